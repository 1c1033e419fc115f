"""Run every contract rule on one skill, in the order in which problems are reported."""

from collections.abc import Callable, Iterable, Iterator

from skillwire.contract.rules.block import CHECKS as BLOCK_CHECKS
from skillwire.contract.rules.block import NUMBER_CHECKS
from skillwire.contract.rules.references import CAPABILITY_CHECKS
from skillwire.contract.rules.references import CHECKS as REFERENCE_CHECKS
from skillwire.contract.rules.skill import ContractSkill, SkillFacts
from skillwire.contract.rules.standard import CHECKS as STANDARD_CHECKS
from skillwire.contract.rules.standard import standard_problems
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Json
from skillwire.safe_text import quoted

_FOR_EVERY_SKILL: tuple[Callable[[ContractSkill], Iterable[Problem]], ...] = STANDARD_CHECKS
_FOR_THE_BLOCK: tuple[Callable[[ContractSkill], Iterable[Problem]], ...] = (
    *BLOCK_CHECKS,
    *REFERENCE_CHECKS,
    *CAPABILITY_CHECKS,
    *NUMBER_CHECKS,
)


def check_skill(facts: SkillFacts, key: str) -> Iterator[Problem]:
    """Yield every problem of one skill. Accepts any frontmatter, however malformed."""
    yield from standard_problems(facts)
    value = facts.frontmatter.get(key)
    subject = ContractSkill.of(facts, key)
    checks = (*_FOR_EVERY_SKILL, *_FOR_THE_BLOCK) if isinstance(value, dict) else _FOR_EVERY_SKILL
    yield from _block_problems(subject)
    for check in checks:
        yield from check(subject)


def _block_problems(subject: ContractSkill) -> Iterator[Problem]:
    fields, key = subject.facts.frontmatter, subject.key
    value = fields.get(key)
    if isinstance(value, dict):
        return
    if value is not None:
        hint = (
            f"write `id`, `version` and `capabilities` below {quoted(f'{key}:')}, each on a line of its own"
        )
        yield subject.problem((key,), Rule.CONTRACT_BLOCK_TYPE, "the block is not a mapping", hint)
        return
    metadata = fields.get("metadata")
    if isinstance(metadata, dict) and f"{key}.id" in metadata:
        message = "the skill has no such block: it is a projection"
        yield subject.problem(
            (key,), Rule.CONTRACT_BLOCK_MISSING, message, "check the skill that it was projected from"
        )
        return
    other = next((name for name, each in fields.items() if _looks_like_a_block(each)), None)
    if other is not None:
        message = f"the skill has no such block, but one under {quoted(other)}"
        hint = f"rename it to {quoted(key)}, or name it with `--block-key {other}`"
        yield subject.problem((key,), Rule.CONTRACT_BLOCK_MISSING, message, hint)
        return
    example = f'{key}: {{id: {subject.namespace}, version: "1.0.0", capabilities: […]}}'
    message = "the skill has no such block, so it is not in the catalogue"
    hint = f"add {quoted(example)}; `skillwire new --contract` writes a complete one"
    yield subject.problem((key,), Rule.CONTRACT_BLOCK_MISSING, message, hint)


def _looks_like_a_block(value: Json) -> bool:
    return isinstance(value, dict) and {"id", "version", "capabilities"} <= value.keys()
