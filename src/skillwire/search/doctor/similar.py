"""Find descriptions that are nearly the same, and names that collide.

The words are those of the search index. Two descriptions are compared only if they share one of their rarest
words, which all similar descriptions do. So the cost grows with the number of skills, not with its square.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from math import ceil

from skillwire.search.doctor.offer import OfferedSkill
from skillwire.search.text import term_of_word, words

SIMILAR = 0.75
"""Share of common words from which two descriptions are nearly the same."""
_FEWEST = 3
"""Number of different words below which a description is too short to compare."""
_MAX_COMPARED = 200
"""Maximum number of earlier descriptions with which one is compared."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A skill whose description is nearly the same as that of an earlier skill."""

    name: str
    of: str
    similarity: float
    """The share of their words that both have, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Collision:
    """A name that several skills have, if case, `_` and `-` are ignored."""

    name: str
    skills: tuple[str, ...]


def find_duplicates(skills: Iterable[OfferedSkill]) -> list[Duplicate]:
    """Return each skill whose description is nearly that of an earlier skill, with the most similar one."""
    terms = term_of_word()
    first: dict[frozenset[str], str] = {}
    found: dict[str, Duplicate] = {}
    order: list[str] = []
    for skill in skills:
        order.append(skill.handle)
        text = f"{skill.description} {skill.when_to_use}"
        described = frozenset(term for word in words(text) if (term := terms[word]))
        if len(described) < _FEWEST:
            continue
        if (same := first.setdefault(described, skill.handle)) != skill.handle:
            found[skill.handle] = Duplicate(skill.handle, same, 1.0)
    for each in _similar(first):
        found[each.name] = each
    return [found[name] for name in order if name in found]


def _similar(descriptions: dict[frozenset[str], str]) -> Iterable[Duplicate]:
    """Yield each description that is similar to an earlier one. All of them differ."""
    counts = Counter(term for each in descriptions for term in each)
    by_term: defaultdict[str, list[int]] = defaultdict(list)
    known = list(descriptions)
    for number, described in enumerate(known):
        rarest = sorted(described, key=lambda term: (counts[term], term))
        # Similar sets share a word among so many of their rarest.
        rarest = rarest[: len(rarest) - ceil(SIMILAR * len(rarest)) + 1]
        candidates = (other for term in rarest for other in by_term[term])
        best, closest = SIMILAR, -1
        for other in dict.fromkeys(islice(candidates, _MAX_COMPARED)):
            common = len(described & known[other])
            share = common / (len(described) + len(known[other]) - common)
            if share > best or (share == best and closest < 0):
                best, closest = share, other
        if closest >= 0:
            yield Duplicate(descriptions[described], descriptions[known[closest]], round(best, 2))
        for term in rarest:
            by_term[term].append(number)


def find_collisions(skills: Iterable[OfferedSkill]) -> list[Collision]:
    """Return the names that several skills have."""
    sharing: defaultdict[str, list[str]] = defaultdict(list)
    for skill in skills:
        sharing[skill.name.casefold().replace("_", "-")].append(skill.handle)
    return [Collision(name, tuple(each)) for name, each in sharing.items() if len(each) > 1]
