"""How much harm code could do, and what it will do, in words for the person who approves it.

Nothing in the language changes anything. The worst that code can do is to tell too much: who customers are.
"""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from approved_code.dataset import Dataset
from approved_code.grammar import FUNCTIONS, Comprehension

Risk = Literal["low", "medium", "high", "critical"]
Format = Literal["text", "markdown"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A risk, and sentences that say what it comes from."""

    risk: Risk
    sentences: tuple[str, ...]

    def explanation(self, form: Format) -> str:
        if form == "markdown":
            return "\n".join(f"- {each}" for each in self.sentences)
        return " ".join(self.sentences)


def judge(expression: ast.expr, data: Dataset, variables: Collection[str]) -> Judgement:
    """Judge an expression that passed `check`."""
    used = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    texts = {node.value for node in ast.walk(expression) if isinstance(node, ast.Constant)}
    named = [each for each in data.fields if each in texts]
    whole = data.name in used and any(True for _ in _whole_records(expression, data))
    told = sorted(data.personal) if whole else [each for each in named if each in data.personal]
    sentences = [
        _reads(data, named, whole=whole) if data.name in used else "Computes without looking at data."
    ]
    if given := [each for each in variables if each in used]:
        sentences.append(f"Uses {_listed(given)} as given.")
    if called := [each for each in FUNCTIONS if each in used]:
        sentences.append(f"Calls {_listed(called)}.")
    if told:
        sentences.append(f"May show who customers are: {_listed(told)}.")
    return Judgement("medium" if told else "low", (*sentences, "Changes nothing."))


def _reads(data: Dataset, named: list[str], *, whole: bool) -> str:
    what = "every field" if whole else _listed(named) if named else "no field"
    return f"Reads {what} of up to {len(data.records)} `{data.name}`."


def _listed(names: Collection[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)


def _whole_records(expression: ast.expr, data: Dataset) -> Iterator[ast.Name]:
    """Yield each place from which a whole record, or a field that is not spelt out, may get further.

    A loop over the data, its length, and a field of the loop's own variable that is written as a literal get
    nothing else out. Everything else may; the rule rather suspects too much.
    """
    nodes = list(ast.walk(expression))
    loops = [loop for node in nodes if isinstance(node, Comprehension) for loop in node.generators]
    over_data = [loop for loop in loops if _is_name(loop.iter, {data.name})]
    records = {loop.target.id for loop in over_data if isinstance(loop.target, ast.Name)}
    harmless = {id(part) for loop in over_data for part in (loop.iter, loop.target)}
    for node in nodes:
        if isinstance(node, ast.Subscript) and _is_name(node.value, records):
            if isinstance(node.slice, ast.Constant):
                harmless.add(id(node.value))
        elif isinstance(node, ast.Call) and _is_name(node.func, {"len"}):
            harmless.update(id(each) for each in node.args if _is_name(each, {data.name}))
    for node in nodes:
        if _is_name(node, {data.name, *records}) and id(node) not in harmless:
            assert isinstance(node, ast.Name)
            yield node


def _is_name(node: ast.AST, names: Collection[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names
