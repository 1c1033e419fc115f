"""Level 1: which skill the search ranks first for each query. It needs no model, and is a proxy for one.

The search is that of the tool `search-skills`, for models, in the whole library. So a report shows which
skills have words in common, but not what a model would do.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from skillwire.core.record import SkillRecord
from skillwire.evals.case_files import CaseSet
from skillwire.evals.cases import TriggerCase
from skillwire.evals.search_area import content_words
from skillwire.evals.verdict import CaseResult, SearchEvidence, Verdict
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.library import Library
from skillwire.library.search import MAX_LIMIT, Audience, SearchResult

CLAIM = "a proxy by words, not a model"
"""What every report of this level says."""
_PROMINENT = frozenset({"name", "description", "metadata"})
"""Where a word says what a skill is for."""
_MAX_PAGES = 4
_MAX_WORDS = 40
"""Maximum number of words of one query that are looked up."""
_MAX_SHOWN = 6
_MAX_LOOKUPS = 2_000
"""Maximum number of words that are looked up for one report."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """Two skills of which one was used in place of the other."""

    skill: str
    used: str
    results: tuple[CaseResult, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The words that `used` has and `skill` has not, the most frequent first."""
        found = [word for each in self.results for word in each.words]
        return tuple(sorted(dict.fromkeys(found), key=lambda word: (-found.count(word), found.index(word))))

    def to_json(self) -> dict[str, object]:
        return {
            "skill": self.skill,
            "used": self.used,
            "cases": [each.case.id for each in self.results],
            "words": list(self.words),
        }


def find_confusions(results: Iterable[CaseResult]) -> list[Confusion]:
    """Return the pairs of skills that were confused, the most frequent first."""
    pairs: dict[tuple[str, str], list[CaseResult]] = {}
    for each in results:
        if each.case.should_trigger and each.verdict is Verdict.OTHER:
            pairs.setdefault((each.skill, each.evidence.first), []).append(each)
    found = [Confusion(skill, used, tuple(each)) for (skill, used), each in pairs.items()]
    return sorted(found, key=lambda each: (-len(each.results), each.skill, each.used))


async def route(
    library: Library, cases: CaseSet, progress: Callable[[int], None] = lambda _: None
) -> list[CaseResult]:
    """Search for the query of every case. `progress` is called with the number of finished cases."""
    router = _Router(library)
    names = VisibleSkills.of(library).names
    results: list[CaseResult] = []
    for each in cases.skills:
        name = names.handle(each.skill)
        for case in each.questions:
            results.append(await router.result(name, each.skill, case))
            progress(len(results))
    return results


class _Router:
    """Searches a library for models. Words that were looked up are kept."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._known: dict[str, tuple[int, dict[str, frozenset[str]]]] = {}

    async def result(self, name: str, skill: SkillRecord, case: TriggerCase) -> CaseResult:
        found, weak = await self._search(case.query, skill.uri)
        rank = next((each.rank for each in found if each.uri == skill.uri), None)
        evidence = SearchEvidence(rank, found[0].name if found else "", weak)
        result = CaseResult(name, case, evidence)
        if result.passed:
            return result
        return replace(result, words=await self._words(result, skill.uri, found[0].uri if found else ""))

    async def _search(self, query: str, wanted: str) -> tuple[list[SearchResult], bool]:
        """Return the results up to the wanted skill, and whether all of them are weak."""
        found: list[SearchResult] = []
        cursor, weak = None, False
        for _ in range(_MAX_PAGES):
            page = await self._library.search(query, limit=MAX_LIMIT, cursor=cursor, audience=Audience.MODELS)
            found += page.results
            weak, cursor = weak or page.weak, page.next_cursor
            if cursor is None or any(each.uri == wanted for each in page.results):
                break
        return found, weak

    async def _words(self, result: CaseResult, skill: str, first: str) -> tuple[str, ...]:
        """Return the words that explain a result that did not pass, as `CaseResult.words` defines them."""
        told: list[tuple[int, str]] = []
        for word in content_words(result.case.query)[:_MAX_WORDS]:
            total, where = await self._look_up(word)
            own = not _PROMINENT.isdisjoint(where.get(skill, ()))
            match result.verdict:
                case Verdict.OTHER:
                    tells = not own and not _PROMINENT.isdisjoint(where.get(first, ()))
                case Verdict.NONE:
                    tells = not own
                case Verdict.TRIGGERED:
                    tells = own
            if tells:
                told.append((total, word))
        return tuple(word for _, word in sorted(told, key=lambda each: each[0])[:_MAX_SHOWN])

    async def _look_up(self, word: str) -> tuple[int, dict[str, frozenset[str]]]:
        """Return the number of skills that have a word, and where each of them has it, by URI."""
        if word not in self._known and len(self._known) < _MAX_LOOKUPS:
            # The mark at the end says that the word is complete.
            found, _ = await self._search(f"{word}.", "")
            self._known[word] = len(found), {each.uri: frozenset(each.fields) for each in found}
        return self._known.get(word, (0, {}))
