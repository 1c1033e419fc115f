"""Running an expression that was checked, within its bounds."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from approved_code import functions, operators
from approved_code.bounds import Bounds, Meter
from approved_code.check import check
from approved_code.plain import plain
from approved_code.values import items


@dataclass(frozen=True, slots=True)
class Outcome:
    """What code gave, as JSON, and what it cost."""

    result: Any
    steps: int


def evaluate(code: str, names: Mapping[str, Any], bounds: Bounds | None = None) -> Outcome:
    """Check an expression, and run it on these values. Raises `CodeError`, and nothing else."""
    limits = bounds or Bounds()
    run = _Run(names, Meter(limits))
    value = run.value(check(code, names, limits))
    return Outcome(plain(value, "the result", limits), run.meter.steps)


class _Run:
    """One run. `check` has bounded how deep it goes, and seen to it that no two things share a name."""

    def __init__(self, names: Mapping[str, Any], meter: Meter) -> None:
        self.meter = meter
        self._names = dict(names)

    def value(self, node: ast.expr) -> Any:
        self.meter.charge()
        return _VALUES[type(node)](self, node)

    def values(self, nodes: list[ast.expr]) -> list[Any]:
        return [self.value(node) for node in nodes]

    def constant(self, node: ast.Constant) -> Any:
        return node.value

    def name(self, node: ast.Name) -> Any:
        return self._names[node.id]

    def list_of(self, node: ast.List) -> Any:
        return self.values(node.elts)

    def tuple_of(self, node: ast.Tuple) -> Any:
        return tuple(self.values(node.elts))

    def set_of(self, node: ast.Set) -> Any:
        return operators.as_set(self.meter, self.values(node.elts))

    def record_of(self, node: ast.Dict) -> Any:
        pairs = zip(node.keys, node.values, strict=True)
        return {self._key(key): self.value(value) for key, value in pairs if key is not None}

    def subscript(self, node: ast.Subscript) -> Any:
        value = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper)
            first, last = (None if end is None else self.value(end) for end in ends)
            return operators.part(self.meter, value, first, last)
        return operators.item(self.meter, value, self.value(node.slice))

    def call(self, node: ast.Call) -> Any:
        assert isinstance(node.func, ast.Name)
        match node.args:
            case [ast.GeneratorExp() as loop] if node.func.id in {"any", "all"}:
                return self._decided(loop, by=node.func.id == "any")
            case _:
                pass
        named = {str(each.arg): self.value(each.value) for each in node.keywords}
        return functions.call(self.meter, node.func.id, self.values(node.args), **named)

    def binary(self, node: ast.BinOp) -> Any:
        return operators.arithmetic(self.meter, node.op, self.value(node.left), self.value(node.right))

    def unary(self, node: ast.UnaryOp) -> Any:
        return operators.sign(self.meter, node.op, self.value(node.operand))

    def logic(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for each in node.values:
            value = self.value(each)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def comparison(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for operator, each in zip(node.ops, node.comparators, strict=True):
            right = self.value(each)
            if not operators.compare(self.meter, operator, left, right):
                return False
            left = right
        return True

    def choice(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def loop(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        return [self.value(node.elt) for _ in self._rounds(node.generators)]

    def loop_to_set(self, node: ast.SetComp) -> Any:
        return operators.as_set(self.meter, [self.value(node.elt) for _ in self._rounds(node.generators)])

    def loop_to_record(self, node: ast.DictComp) -> Any:
        return {self._key(node.key): self.value(node.value) for _ in self._rounds(node.generators)}

    def _decided(self, loop: ast.GeneratorExp, *, by: bool) -> bool:
        """Return whether an item of the loop is `by`. As in Python, the loop ends at the first that is."""
        return by if any(bool(self.value(loop.elt)) is by for _ in self._rounds(loop.generators)) else not by

    def _key(self, node: ast.expr) -> str:
        return operators.key(self.meter, self.value(node))

    def _rounds(self, loops: list[ast.comprehension]) -> Iterator[None]:
        """Set the variables of the loops, and yield, once for each round in which all conditions hold."""
        if not loops:
            yield
            return
        loop, *inner = loops
        assert isinstance(loop.target, ast.Name)
        for item in items(self.meter, self.value(loop.iter)):
            self._names[loop.target.id] = item
            if all(self.value(each) for each in loop.ifs):
                yield from self._rounds(inner)


_VALUES: Mapping[type[ast.expr], Callable[[_Run, Any], Any]] = {
    ast.Constant: _Run.constant,
    ast.Name: _Run.name,
    ast.List: _Run.list_of,
    ast.Tuple: _Run.tuple_of,
    ast.Set: _Run.set_of,
    ast.Dict: _Run.record_of,
    ast.Subscript: _Run.subscript,
    ast.Call: _Run.call,
    ast.BinOp: _Run.binary,
    ast.UnaryOp: _Run.unary,
    ast.BoolOp: _Run.logic,
    ast.Compare: _Run.comparison,
    ast.IfExp: _Run.choice,
    ast.ListComp: _Run.loop,
    ast.GeneratorExp: _Run.loop,
    ast.SetComp: _Run.loop_to_set,
    ast.DictComp: _Run.loop_to_record,
}
