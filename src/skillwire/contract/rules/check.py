"""Run every contract rule on one skill, in the order in which problems are reported."""

from collections.abc import Callable, Iterable, Iterator

from skillwire.contract.rules.block import CHECKS as BLOCK_CHECKS
from skillwire.contract.rules.block import NUMBER_CHECKS
from skillwire.contract.rules.references import CAPABILITY_CHECKS
from skillwire.contract.rules.references import CHECKS as REFERENCE_CHECKS
from skillwire.contract.rules.skill import (
    BLOCK_KEYS,
    ContractSkill,
    SkillFacts,
    looks_like_a_block,
    projected_key,
)
from skillwire.contract.rules.standard import CHECKS as STANDARD_CHECKS
from skillwire.contract.rules.standard import standard_problems
from skillwire.core.problem import Problem, Rule
from skillwire.safe_text import quoted

_FOR_EVERY_SKILL: tuple[Callable[[ContractSkill], Iterable[Problem]], ...] = STANDARD_CHECKS
_FOR_THE_BLOCK: tuple[Callable[[ContractSkill], Iterable[Problem]], ...] = (
    *BLOCK_CHECKS,
    *REFERENCE_CHECKS,
    *CAPABILITY_CHECKS,
    *NUMBER_CHECKS,
)


def check_skill(facts: SkillFacts, key: str) -> Iterator[Problem]:
    """Yield the problems of one skill, without its body and its relations to other skills.

    Accepts any frontmatter, however malformed. `key` is the key of the metadata block.
    """
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
    if len(both := [each for each in BLOCK_KEYS if each in fields]) > 1:
        message = f"the skill has two blocks, {' and '.join(map(quoted, both))}"
        hint = f"move everything into {quoted(key)}, and remove the other"
        yield subject.problem((both[-1],), Rule.CONTRACT_BLOCK_TWICE, message, hint)
    if isinstance(value, dict):
        return
    if value is not None:
        hint = (
            f"write `id`, `version` and `capabilities` below {quoted(f'{key}:')}, each on a line of its own"
        )
        yield subject.problem((key,), Rule.CONTRACT_BLOCK_TYPE, "the block is not a mapping", hint)
        return
    if projected_key(fields, key) is not None:
        message = "the skill has no such block: it is a projection"
        yield subject.problem(
            (key,), Rule.CONTRACT_BLOCK_MISSING, message, "check the skill that it was projected from"
        )
        return
    other = next((name for name, each in fields.items() if looks_like_a_block(each)), None)
    if other is not None:
        message = f"the skill has no such block, but one under {quoted(other)}"
        hint = f"rename it to {quoted(key)}, or name it with `--block-key {other}`"
        yield subject.problem((key,), Rule.CONTRACT_BLOCK_MISSING, message, hint)
        return
    example = f'{key}: {{id: {subject.namespace}, version: "1.0.0", capabilities: […]}}'
    message = "the skill has no such block, so it is not in the catalog"
    hint = f"add {quoted(example)}, or let `--fix --adopt` write it"
    yield subject.problem((key,), Rule.CONTRACT_BLOCK_MISSING, message, hint)
