"""Level 1: which skill the search ranks first for each query. It needs no model, and is a proxy for one.

The search is that of the tool `search-skills`, for models, in the whole library. So a report shows which
skills have words in common, but not what a model would do.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from skillwire.core.record import SkillRecord
from skillwire.evals.case_files import CaseSet
from skillwire.evals.cases import TriggerCase
from skillwire.evals.search_area import content_terms
from skillwire.evals.verdict import MAX_RANK, CaseResult, SearchEvidence, Verdict
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.library import Library
from skillwire.library.search import Audience, SearchResult

CLAIM = "a proxy by words, not a model"
"""What every report of this level says."""
_PAGES = (3, MAX_RANK - 3)
"""The numbers of results that are asked for, until the skill is among them. Few are enough for most cases."""
_MAX_WORDS = 6


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


async def route(library: Library, cases: CaseSet) -> list[CaseResult]:
    """Search for the query of every case, in order."""
    router = _Router(library)
    return [await router.result(each.skill, case) for each in cases.skills for case in each.questions]


class _Router:
    """Searches a loaded library for models."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._names = VisibleSkills.of(library).names
        self._terms: dict[str, frozenset[str]] = {}
        """The terms in the name and description of each skill that was asked for, by URI."""

    async def result(self, skill: SkillRecord, case: TriggerCase) -> CaseResult:
        found, weak = await self._search(case.query, skill.uri)
        rank = next((each.rank for each in found if each.uri == skill.uri), None)
        evidence = SearchEvidence(rank, found[0].name if found else "", weak)
        result = CaseResult(self._names.handle(skill), case, evidence)
        if result.passed:
            return result
        return replace(result, words=self._words(result, skill.uri, found[0].uri if found else ""))

    async def _search(self, query: str, wanted: str) -> tuple[list[SearchResult], bool]:
        """Return the results up to the wanted skill, and whether all of them are weak."""
        found: list[SearchResult] = []
        cursor, weak = None, False
        for limit in _PAGES:
            page = await self._library.search(query, limit=limit, cursor=cursor, audience=Audience.MODELS)
            found += page.results
            weak, cursor = weak or page.weak, page.next_cursor
            if cursor is None or any(each.uri == wanted for each in page.results):
                break
        return found, weak

    def _words(self, result: CaseResult, skill: str, first: str) -> tuple[str, ...]:
        """Return the words that explain a result that did not pass, as `CaseResult.words` defines them."""
        own = self._terms_of(skill)
        match result.verdict:
            case Verdict.OTHER:
                telling = self._terms_of(first) - own
            case Verdict.TRIGGERED:
                telling = own
            case Verdict.NONE:
                telling = None
        asked = content_terms(result.case.query)
        words = [
            word
            for word, term in asked.items()
            if (term in telling if telling is not None else term not in own)
        ]
        return tuple(words[:_MAX_WORDS])

    def _terms_of(self, uri: str) -> frozenset[str]:
        if uri not in self._terms:
            record = self._library.catalog.entries.get(uri)  # templates have no record
            text = "" if record is None else f"{record.name}\n{record.description}\n{record.when_to_use}"
            self._terms[uri] = frozenset(content_terms(text).values())
        return self._terms[uri]
