"""The language, as tables: whatever is not listed here does not exist.

It is a part of Python's expressions, and means what it means there. Nothing in it can change, import or call
anything, and every table is an allow-list.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LITERALS = (str, int, float, bool, type(None))

ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: operator.mod,
}
"""For numbers; `+` also joins texts, and lists. No power and no shift: they make giants of dwarfs."""

SIGNS: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}

ORDER: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
EQUALITY: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {ast.Eq: operator.eq, ast.NotEq: operator.ne}
MEMBERSHIP = (ast.In, ast.NotIn)


@dataclass(frozen=True, slots=True)
class Function:
    """What a function may be called with."""

    fewest: int
    most: int
    loops: bool
    """Whether its only argument may be a bare `… for … in …`."""
    keywords: frozenset[str] = frozenset()


FUNCTIONS: Mapping[str, Function] = {
    "abs": Function(1, 1, loops=False),
    "all": Function(1, 1, loops=True),
    "any": Function(1, 1, loops=True),
    "len": Function(1, 1, loops=False),
    "max": Function(1, 20, loops=True),
    "min": Function(1, 20, loops=True),
    "round": Function(1, 2, loops=False),
    "sorted": Function(1, 1, loops=True, keywords=frozenset({"reverse"})),
    "sum": Function(1, 1, loops=True),
}

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
