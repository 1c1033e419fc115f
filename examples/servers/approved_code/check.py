"""Whether code may run: it is parsed, never executed, and every node of it must be in the grammar."""

import ast
import keyword
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from approved_code.bounds import Bounds, Meter
from approved_code.faults import CodeError, Violation, fault
from approved_code.grammar import (
    ARITHMETIC,
    EQUALITY,
    FUNCTIONS,
    LITERALS,
    MEMBERSHIP,
    ORDER,
    SIGNS,
    Comprehension,
)
from approved_code.plain import check_text

MOST_VIOLATIONS = 10
MOST_NAMES = 10
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class _Place:
    """A node, the node around it, and the names that mean something there."""

    node: ast.expr
    around: ast.expr | None
    depth: int
    names: frozenset[str]


def check(code: str, names: Collection[str], bounds: Bounds) -> ast.expr:
    """Return the expression that `code` is. Raises `CodeError` with everything that is wrong with it."""
    expression = _parsed(code, bounds)
    lines = re.split("\r\n|\r|\n", code)
    found = sorted(
        ((node.lineno, node.col_offset, violation) for node, violation in _walk(expression, names, bounds)),
        key=lambda each: each[:2],
    )
    if found:
        shown = [
            Violation(each.rule, f"{_where(lines, line, column)}: {each.message}", each.suggestion)
            for line, column, each in found[:MOST_VIOLATIONS]
        ]
        raise CodeError(*shown)
    return expression


def is_name(text: str) -> bool:
    """Whether a value that comes with the code may be called so. Nothing private can be."""
    return NAME.fullmatch(text) is not None and not keyword.iskeyword(text)


def _parsed(code: str, bounds: Bounds) -> ast.expr:
    if len(code) > bounds.length:
        raise fault("length", f"the code has more than {bounds.length:,} characters", "write less")
    check_text(code, "the code")
    try:
        with warnings.catch_warnings(action="ignore"):  # odd spelling is the author's business
            return ast.parse(code, mode="eval").body
    except SyntaxError as error:
        where = f"line {error.lineno or 1}, column {error.offset or 1}"
        raise fault("syntax", f"{where}: {error.msg}", "write one Python expression") from error
    except (
        ValueError,
        MemoryError,
        RecursionError,
    ) as error:  # NUL, or beyond the parser's limits
        raise fault("syntax", "the code cannot be parsed", "write one short Python expression") from error


def _where(lines: list[str], line: int, column: int) -> str:
    """Return where a node stands. `ast` counts bytes, people count characters."""
    text = lines[line - 1] if line <= len(lines) else ""
    return f"line {line}, column {len(text.encode()[:column].decode(errors='replace')) + 1}"


def _walk(
    expression: ast.expr, names: Collection[str], bounds: Bounds
) -> Iterator[tuple[ast.expr, Violation]]:
    """Yield every violation with its node. What is broken itself is not looked into."""
    left = [_Place(expression, None, 1, frozenset(names))]
    while left:
        place = left.pop()
        if violation := _violation(place, bounds):
            yield place.node, violation
            if place.depth > bounds.depth:
                return  # once is enough
        else:
            left.extend(_inside(place))


def _inside(place: _Place) -> Iterator[_Place]:
    """Yield what stands in a node. Each `for` of a loop stands in the one before it."""
    node, names, depth = place.node, place.names, place.depth
    if isinstance(node, Comprehension):
        for loop in node.generators:
            depth += 1
            yield _Place(loop.iter, node, depth, names)
            assert isinstance(loop.target, ast.Name)
            names |= {loop.target.id}
            yield from (_Place(each, node, depth, names) for each in loop.ifs)
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        yield from (_Place(each, node, depth, names) for each in made)
    elif isinstance(node, ast.Call):
        values = [*node.args, *(each.value for each in node.keywords)]
        yield from (_Place(each, node, depth + 1, names) for each in values)
    else:
        children = (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
        yield from (_Place(each, node, depth + 1, names) for each in children)


def _violation(place: _Place, bounds: Bounds) -> Violation | None:
    if place.depth > bounds.depth:
        return Violation("depth", f"the code is nested more than {bounds.depth} deep", "write it flatter")
    look = _CHECKS.get(type(place.node))
    return look(place.node, place, bounds) if look else _foreign(place.node)


def _foreign(node: ast.expr) -> Violation:
    if isinstance(node, ast.Attribute):
        private = node.attr.startswith("_")
        instead = "values have fields only" if private else f'read a field as in `record["{node.attr}"]`'
        return Violation("attribute", f"`.{node.attr}` reaches into a value", instead)
    kind = type(node).__name__
    return Violation("construct", f"`{kind}` is not part of the language", "use fields, operators and loops")


def _fine(_node: ast.expr, _place: _Place, _bounds: Bounds) -> None:
    """What has no rules of its own."""


def _constant(node: ast.Constant, _place: _Place, bounds: Bounds) -> Violation | None:
    if not isinstance(node.value, LITERALS):
        kind = type(node.value).__name__
        return Violation("literal", f"a literal of the kind `{kind}` is not part of the language")
    try:
        Meter(bounds).number(node.value)
        if isinstance(node.value, str):
            check_text(node.value, "a literal")
    except CodeError as error:
        return error.violations[0]
    return None


def _name(node: ast.Name, place: _Place, _bounds: Bounds) -> Violation | None:
    if node.id in place.names:
        return None
    if node.id in FUNCTIONS:
        return Violation("name", f"`{node.id}` is a function", f"call it: `{node.id}(…)`")
    known = ", ".join(f"`{each}`" for each in sorted(place.names)[:MOST_NAMES])
    others = "other values come as `variables`"
    return Violation("name", f"there is no `{node.id}`", f"there is {known}; {others}" if known else others)


def _call(node: ast.Call, _place: _Place, _bounds: Bounds) -> Violation | None:
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        called = f"`{node.func.id}`" if isinstance(node.func, ast.Name) else "this"
        return Violation("call", f"{called} cannot be called", f"there is {', '.join(FUNCTIONS)}")
    name, function = node.func.id, FUNCTIONS[node.func.id]
    if not function.fewest <= len(node.args) <= function.most:
        wanted = f"{function.fewest} to {function.most} arguments"
        return Violation("call", f"`{name}` takes {wanted}, not {len(node.args)}")
    unknown = [each.arg or "**" for each in node.keywords if each.arg not in function.keywords]
    return Violation("call", f"`{name}` takes no `{unknown[0]}`") if unknown else None


def _loops(node: Comprehension, place: _Place, _bounds: Bounds) -> Violation | None:
    names = place.names
    for loop in node.generators:
        if loop.is_async:
            return Violation("construct", "`async for` is not part of the language", "write `for`")
        if not isinstance(loop.target, ast.Name):
            return Violation("loop", "a loop has one variable", "write `for record in …`")
        name = loop.target.id
        if not is_name(name):
            return Violation("name", f"a loop cannot call its items `{name}`", "write `for record in …`")
        if name in names or name in FUNCTIONS:
            return Violation("name", f"`{name}` means something already", "call the items otherwise")
        names |= {name}
    return None


def _bare_loops(node: ast.GeneratorExp, place: _Place, bounds: Bounds) -> Violation | None:
    """As `_loops`, but only where Python reads the generator at once: as the one argument of a function."""
    call = place.around
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args == [node]:
        if FUNCTIONS[call.func.id].loops:
            return _loops(node, place, bounds)
        return Violation("loop", f"`{call.func.id}` wants a list", "write it in brackets: `[… for … in …]`")
    return Violation("loop", "a bare `… for … in …` stands alone", "write it in brackets: `[… for … in …]`")


def _slice(node: ast.Slice, place: _Place, _bounds: Bounds) -> Violation | None:
    if isinstance(place.around, ast.Subscript) and node.step is None:
        return None
    return Violation("construct", "a slice has a first and a last, and nothing else", "write `list[1:9]`")


def _record(node: ast.Dict, _place: _Place, _bounds: Bounds) -> Violation | None:
    if None not in node.keys:
        return None
    return Violation("construct", "`**` is not part of the language", "write each key")


def _operator(node: ast.BinOp | ast.UnaryOp, _place: _Place, _bounds: Bounds) -> Violation | None:
    return None if isinstance(node.op, (*ARITHMETIC, *SIGNS)) else _strange(node.op)


def _comparison(node: ast.Compare, _place: _Place, _bounds: Bounds) -> Violation | None:
    known = (*ORDER, *EQUALITY, *MEMBERSHIP)
    return next((_strange(each) for each in node.ops if not isinstance(each, known)), None)


def _strange(operator: ast.AST) -> Violation:
    return Violation("operator", f"the operator `{type(operator).__name__}` is not part of the language")


_CHECKS: Mapping[type[ast.expr], Callable[[Any, _Place, Bounds], Violation | None]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.List: _fine,
    ast.Tuple: _fine,
    ast.Set: _fine,
    ast.Dict: _record,
    ast.Subscript: _fine,
    ast.Slice: _slice,
    ast.Call: _call,
    ast.BinOp: _operator,
    ast.UnaryOp: _operator,
    ast.BoolOp: _fine,
    ast.Compare: _comparison,
    ast.IfExp: _fine,
    ast.ListComp: _loops,
    ast.SetComp: _loops,
    ast.DictComp: _loops,
    ast.GeneratorExp: _bare_loops,
}
"""Every kind of expression that there is, with the rules of its own."""
