"""Templates of several sources that describe skills at the same paths. The first template answers."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.template import SkillTemplate, parse_parameter
from skillwire.core.template_overlap import find_shared_path
from skillwire.safe_text import quoted

_FIX = "change the path or the values of one of the two templates, or give one of the sources a prefix"


def template_overlaps(sources: Sequence[Sequence[SkillTemplate]]) -> tuple[Problem, ...]:
    """Return a problem for each template that has a path in common with a template of an earlier source.

    Each template is reported once. Templates of one source may overlap: their author chose the order.
    """
    known: defaultdict[int, defaultdict[str | None, list[SkillTemplate]]]
    known = defaultdict(lambda: defaultdict(list))
    problems: list[Problem] = []
    for templates in sources:
        for template in templates:
            earlier = known[template.path.count("/")]
            first = _literal_start(template)
            groups = earlier.values() if first is None else (earlier.get(first, ()), earlier.get(None, ()))
            if (problem := _overlap(template, groups)) is not None:
                problems.append(problem)
        for template in templates:
            known[template.path.count("/")][_literal_start(template)].append(template)
    return tuple(problems)


def explain_taken(path: str, owner: SkillTemplate, remedy: str) -> str:
    """Return that the template `owner` answers at a path, and what to do. A withheld one is not named."""
    who = "another template" if owner.is_withheld else _named(owner)
    change = "change the path or the values of one of the two templates"
    return f"{quoted(path)} belongs to {who}, which comes first; {remedy}, or {change}"


def _overlap(template: SkillTemplate, groups: Iterable[Iterable[SkillTemplate]]) -> Problem | None:
    for other in (each for group in groups for each in group):
        if (path := find_shared_path(other, template)) is not None:
            message = f"skills at paths such as {quoted(path)} belong to {_named(other)}, which comes first"
            place = f"{template.label}/{template.path}"
            return Problem(place, Rule.TEMPLATE_OVERLAP, Severity.WARNING, message, hint=_FIX)
    return None


def _named(template: SkillTemplate) -> str:
    return f"the template {quoted(template.path)} of {quoted(template.label)}"


def _literal_start(template: SkillTemplate) -> str | None:
    """Return the first segment of the path, or None if it is a parameter."""
    first = template.path.partition("/")[0]
    return first if parse_parameter(first) is None else None
