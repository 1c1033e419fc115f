"""The problems of a catalog: those of its sources and skills, taken paths, shared names, nonconformity."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import SkillRecord
from skillwire.library.bare_names import bare_name_owner, full_name
from skillwire.safe_text import quoted
from skillwire.sources.base import Scan

_SHOWN_NAMES = 10
"""Maximum number of skills with the same name that a problem lists."""


@dataclass(frozen=True, slots=True)
class LabelledScan:
    """A scan, and the label of its source."""

    label: str
    scan: Scan


def collect_problems(scans: Sequence[LabelledScan], *, of_skills: bool) -> Iterator[Problem]:
    """Yield the problems of sources and, if `of_skills`, of their skills.

    If there are several sources, add the label to each path.
    """
    for labelled in scans:
        for problem in labelled.scan.problems:
            yield labelled_problem(problem, labelled.label, several=len(scans) > 1)
        for entry in labelled.scan.entries if of_skills else ():
            for problem in entry.problems:
                yield labelled_problem(problem, labelled.label, several=len(scans) > 1)


def labelled_problem(problem: Problem, label: str, *, several: bool) -> Problem:
    """Return a problem in the source `label`. If there are several sources, add the label to its path."""
    return replace(problem, path=f"{label}/{problem.path}") if several else problem


def _place(entry: SkillRecord, *, several: bool) -> str:
    origin = entry.origin
    return f"{origin.source}/{origin.path}" if several else origin.path


def taken_problem(entry: SkillRecord, taken: SkillRecord, *, several: bool) -> Problem:
    """Return the problem of a skill that is left out because another skill has its path."""
    return Problem(
        _place(entry, several=several),
        Rule.URI_TAKEN,
        Severity.ERROR,
        f"its address {quoted(entry.uri)} belongs to {quoted(_place(taken, several=several))}",
        hint="rename the folder of one of the two, so that neither is inside the other",
    )


def shared_name_problems(sharing: Sequence[SkillRecord], *, several: bool) -> dict[str, Problem]:
    """Return the problem of each skill that is not called by its bare name, by URI (S17).

    `sharing` contains all skills with one name, in listing order. If the bare name belongs to one skill, all
    other skills share one problem. Otherwise, no skill is called by the bare name, and each of them has its
    own problem.
    """
    if len(sharing) < 2:
        return {}
    owner = bare_name_owner(sharing)
    called = [entry for entry in sharing if entry is not owner]
    together = None if owner is None else _name_shared(called[0], called, owner, several=several)
    return {each.uri: together or _name_shared(each, called, None, several=several) for each in called}


def nonconforming(entries: Iterable[SkillRecord], *, several: bool) -> dict[str, Problem]:
    """Return the problem of each skill that makes strict clients refuse the whole list, by URI."""
    return {entry.uri: _not_listed(entry, several=several) for entry in entries if entry.nonconformities}


def in_order_of_names(
    shared: Mapping[str, Problem], sharing: Iterable[Sequence[SkillRecord]]
) -> Iterable[Problem]:
    """Return the problems of shared names, each once. `sharing` has the skills of each shared name."""
    found = (shared.get(entry.uri) for entries in sharing for entry in entries)
    return {id(problem): problem for problem in found if problem is not None}.values()


def _not_listed(entry: SkillRecord, *, several: bool) -> Problem:
    reasons = entry.nonconformities
    what = "; ".join(reason.message for reason in reasons)
    fixes = "; ".join(dict.fromkeys(reason.fix for reason in reasons))
    listed_with = "so it is listed only with `--list-nonconforming`"
    return Problem(
        _place(entry, several=several),
        Rule.NOT_LISTED,
        Severity.WARNING,
        f"strict clients refuse every list with this skill, {listed_with}: {what}",
        hint="ask the operator of its server to fix it" if entry.origin.foreign else fixes,
        field=reasons[0].field,
    )


def _name_shared(
    entry: SkillRecord, called: Sequence[SkillRecord], owner: SkillRecord | None, *, several: bool
) -> Problem:
    """Return the problem of `entry`. `called` has all skills with its name, except `owner`."""
    name = quoted(called[0].name)
    full = [quoted(full_name(entry)) for entry in called[:_SHOWN_NAMES]]
    if len(called) > _SHOWN_NAMES:
        full.append(f"{len(called) - _SHOWN_NAMES:,} more")
    names = " and ".join([*([", ".join(full[:-1])] if full[1:] else []), full[-1]])
    meaning = f"{len(called)} skills have the name {name}; they are called {names}"
    if owner is not None:
        others = "another skill" if len(called) == 1 else f"{len(called)} other skills"
        meaning = f"{name} means {quoted(_place(owner, several=several))}; {others} with this name: {names}"
    return Problem(
        _place(entry, several=several),
        Rule.NAME_SHARED,
        Severity.WARNING,
        meaning,
        hint="give each its own name, so that people and models can tell them apart",
        field="name",
    )
