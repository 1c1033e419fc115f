"""Names that an existing server has itself: its own win, and a problem says what is not offered."""

import logging
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.features.base import Feature, ListKind
from skillwire.features.instructions import InstructionsFeature
from skillwire.features.resources import ProblemsDocument, ResourcesFeature
from skillwire.features.tools import LOAD_SKILL, SKILL_RESOURCE
from skillwire.library.catalog import Catalog
from skillwire.protocol.messages import PROMPTS_LIST, TOOLS_LIST
from skillwire.safe_text import quoted
from skillwire.server.notifications import ChangeNotifier

_log = logging.getLogger(__name__)

_KINDS = {TOOLS_LIST: "tool", PROMPTS_LIST: "prompt"}
"""What has a name that somebody else may have, by the list that it is in."""
SKILL_TOOLS = frozenset({LOAD_SKILL, SKILL_RESOURCE})
"""Tools that refer to each other: a model that has one of them needs the other."""


class TakenNames:
    """The names of ours that the server has, too, as far as requests have shown."""

    def __init__(self) -> None:
        self._taken: dict[str, set[str]] = {method: set() for method in _KINDS}
        self._problems: tuple[Problem, ...] = ()
        self.on_change: Callable[[], None] = lambda: None
        """Called when another name turns out to be taken."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is not offered, and what to do about it."""
        return self._problems

    def has(self, method: str, name: object) -> bool:
        """Whether `name` is the server's own in the list of `method`."""
        return name in self._taken[method]

    def note(self, method: str, taken: AbstractSet[str]) -> AbstractSet[str]:
        """Remember names of ours that the server lists. Return all of ours that are not offered then."""
        if new := taken - self._taken[method]:
            for name in sorted(new):
                _log.warning("%s", _message(method, name))
            self._taken[method] |= new
            self._problems = tuple(
                _problem(each, name) for each, names in self._taken.items() for name in sorted(names)
            )
            self.on_change()
        return SKILL_TOOLS | taken if method == TOOLS_LIST and taken & SKILL_TOOLS else taken


def _message(method: str, name: str) -> str:
    kind = _KINDS[method]
    both = kind == "tool" and name in SKILL_TOOLS
    ours = f"`{LOAD_SKILL}` and `{SKILL_RESOURCE}` of the skills are" if both else "the one of the skills is"
    return f"the server has its own {kind} {quoted(name)}; {ours} not offered"


def _problem(method: str, name: str) -> Problem:
    hint = "rename it, or attach the skills with `every_client=False`"
    return Problem(".", Rule.NAME_TAKEN, Severity.WARNING, _message(method, name), hint)


class _HostProblems(ProblemsDocument):
    """The problems of the skills, and those that they have with the server they are attached to."""

    def __init__(self, of_skills: ProblemsDocument, taken: TakenNames) -> None:
        self.description = of_skills.description
        self._of_skills, self._taken = of_skills, taken

    def problems(self, catalog: Catalog) -> tuple[Problem, ...]:
        return (*self._of_skills.problems(catalog), *self._taken.problems)


def show_taken_names(features: Sequence[Feature], taken: TakenNames) -> None:
    """Have the document of problems show which names are taken."""
    for feature in features:
        if isinstance(feature, ResourcesFeature):
            document = feature.documents[ProblemsDocument.uri]
            assert isinstance(document, ProblemsDocument), "it is the document of that address"
            feature.documents[ProblemsDocument.uri] = _HostProblems(document, taken)


def without_tools(features: Sequence[Feature]) -> list[Feature]:
    """Return the features with instructions that name no tool: the tools of that name are not ours."""
    return [each.without_tools() if isinstance(each, InstructionsFeature) else each for each in features]


def problems_changed(features: Sequence[Feature], notifier: ChangeNotifier) -> None:
    """Have clients told that the document of problems shows something else."""
    for feature in features:
        if isinstance(feature, ResourcesFeature):
            feature.documents_changed()
    notifier.note([ListKind.RESOURCES], [ProblemsDocument.uri])
