"""Arguments of prompts: the parameters of templates, and arguments that a skill's frontmatter declares."""

from typing import TypeAlias

from skillwire.core.record import Json, SkillRecord
from skillwire.core.skill_arguments import WHOLE, SkillArguments
from skillwire.core.template import SkillTemplate
from skillwire.core.template_mismatch import describe_parameter, explain_values, unique_parameters
from skillwire.errors import BadParamsError
from skillwire.features.base import Call
from skillwire.safe_text import collapse_lines, quoted

Offered: TypeAlias = SkillRecord | SkillTemplate
"""What a prompt starts: a skill, or one of the skills that a template describes."""


def by_name_arguments() -> list[Json]:
    """Return the arguments of the prompt that takes the name of a skill."""
    return [
        _argument("name", "The name of the skill.", required=True),
        _argument(WHOLE, "What the skill works on, if it takes arguments.", required=False),
    ]


def prompt_arguments(prompt: Offered, *, framed: bool) -> list[Json]:
    """Return an argument for each parameter of a template, then those that the frontmatter declares.

    If `framed`, the hint comes from another operator, and is quoted with its origin.
    """
    declared = _declared(prompt)
    hint = f"{label_of(prompt)} says: {quoted(declared.hint, None)}" if framed else declared.hint
    described = dict[str, str]()
    if isinstance(prompt, SkillTemplate):
        described = {name: describe_parameter(prompt, name) for name in unique_parameters(prompt)}
    return [
        *(_argument(name, collapse_lines(values), required=True) for name, values in described.items()),
        *(
            _argument(
                name, hint if declared.hint else f"What replaces `${name}` in the skill.", required=False
            )
            for name in declared.parameters
            if name not in described
        ),
    ]


def template_values(template: SkillTemplate, name: str, arguments: Call) -> dict[str, str]:
    """Return the value of each parameter of the template. `name` is the name of the template's prompt.

    Raises `BadParamsError`, which names each parameter that has no value or a wrong one.
    """
    given = [each for each in unique_parameters(template) if each in arguments.params]
    values = {each: arguments.text(each) for each in given}
    if reason := explain_values(template, values):
        raise BadParamsError(f"the prompt {quoted(name)} needs other arguments; {reason}")
    return values


def values_to_fill(prompt: Offered | None, arguments: Call) -> dict[str, str]:
    """Return the values to fill into the text of a skill. The parameters of a template are left out.

    Without a `prompt`, only the argument `WHOLE` is used.
    """
    names = dict.fromkeys((*(() if prompt is None else _declared(prompt).names), WHOLE))
    taken = prompt.parameters if isinstance(prompt, SkillTemplate) else ()
    given = (each for each in names if each not in taken and arguments.params.get(each) is not None)
    return {each: arguments.text(each) for each in given}


def label_of(prompt: Offered) -> str:
    """Return the label of the source of a skill or template."""
    return prompt.label if isinstance(prompt, SkillTemplate) else prompt.origin.source


def _declared(prompt: Offered) -> SkillArguments:
    return SkillArguments.of(prompt.fields if isinstance(prompt, SkillTemplate) else prompt.frontmatter)


def _argument(name: str, description: str, *, required: bool) -> Json:
    return {"name": name, "description": description, "required": required}
