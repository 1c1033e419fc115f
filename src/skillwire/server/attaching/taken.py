"""Tool and prompt names that an existing server already uses.

The server's own tools and prompts take precedence. A problem reports each conflict.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.features.base import Feature, ListKind
from skillwire.features.catalog_text import SEARCH_SKILLS
from skillwire.features.instructions import InstructionsFeature
from skillwire.features.resources import ProblemsDocument, ResourcesFeature
from skillwire.features.scheme import OtherScheme
from skillwire.features.tools import LOAD_SKILL, SKILL_RESOURCE
from skillwire.library.catalog import Catalog
from skillwire.protocol.messages import PROMPTS_LIST, TOOLS_LIST
from skillwire.safe_text import quoted
from skillwire.server.notifications import ChangeNotifier

_log = logging.getLogger(__name__)

_KINDS = {TOOLS_LIST: "tool", PROMPTS_LIST: "prompt"}
"""The kinds of names that can conflict, by the method that lists them."""
SKILL_TOOLS = frozenset({LOAD_SKILL, SKILL_RESOURCE, SEARCH_SKILLS})
"""Tools that refer to each other, so that a model needs both or neither."""


class TakenNames:
    """Names of the attached skills that the server already uses, as far as requests have shown."""

    def __init__(self) -> None:
        self._taken: dict[str, set[str]] = {method: set() for method in _KINDS}
        self._problems: tuple[Problem, ...] = ()
        self.on_change: Callable[[], None] = lambda: None
        """Called when a further taken name is recorded."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """One problem for each taken name, with a hint."""
        return self._problems

    def has(self, method: str, name: object) -> bool:
        """Return whether `name` is known to be the server's own in the list of `method`."""
        return name in self._taken[method]

    def note(self, method: str, taken: AbstractSet[str]) -> AbstractSet[str]:
        """Record the names `taken`, which the skills share with the server. Return the names to leave out.

        These are `taken` and, if a tool in `SKILL_TOOLS` is taken, the others, too.
        """
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
    ours = f"the skill tools `{LOAD_SKILL}` and `{SKILL_RESOURCE}` are" if both else f"the skill's {kind} is"
    return f"the server has its own {kind} {quoted(name)}; {ours} not offered"


def _problem(method: str, name: str) -> Problem:
    hint = "rename it, or attach the skills with `every_client=False`"
    return Problem(".", Rule.NAME_TAKEN, Severity.WARNING, _message(method, name), hint)


class _HostProblems(ProblemsDocument):
    """The document with the problems of the skills, and a problem for each taken name."""

    def __init__(self, of_skills: ProblemsDocument, taken: TakenNames) -> None:
        self.description = of_skills.description
        self._of_skills, self._taken = of_skills, taken

    def problems(self, catalog: Catalog) -> tuple[Problem, ...]:
        return (*self._of_skills.problems(catalog), *self._taken.problems)


def _resources_of(features: Sequence[Feature]) -> Iterator[ResourcesFeature]:
    for feature in features:
        inside = feature.inside if isinstance(feature, OtherScheme) else feature
        if isinstance(inside, ResourcesFeature):
            yield inside


def show_taken_names(features: Sequence[Feature], taken: TakenNames) -> None:
    """Make the document of problems also report the names in `taken`."""
    for feature in _resources_of(features):
        document = feature.documents[ProblemsDocument.uri]
        assert isinstance(document, ProblemsDocument), "the URI belongs to the document of problems"
        feature.documents[ProblemsDocument.uri] = _HostProblems(document, taken)


def without_tool_names(features: Sequence[Feature]) -> list[Feature]:
    """Return `features`, with instructions that do not name the tools in `SKILL_TOOLS`."""
    return list(map(_without_tool_names, features))


def _without_tool_names(feature: Feature) -> Feature:
    if isinstance(feature, OtherScheme):
        return OtherScheme(_without_tool_names(feature.inside), feature.uri_base)
    return feature.without_tool_names() if isinstance(feature, InstructionsFeature) else feature


def problems_changed(features: Sequence[Feature], notifier: ChangeNotifier) -> None:
    """Notify clients that the document of problems has changed."""
    for feature in _resources_of(features):
        feature.documents_changed()
    notifier.note([ListKind.RESOURCES], [ProblemsDocument.uri])
