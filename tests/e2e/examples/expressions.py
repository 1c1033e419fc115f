"""Code for the evaluator of code mode: well formed at random, and soup."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

NAMES: dict[str, Any] = {
    "rows": [
        {"n": 3, "t": "ab", "ns": [1, 2]},
        {"n": -7, "t": "", "ns": []},
        {"n": 2.5, "t": "é~", "ns": [4, 4.0, 0]},
    ],
    "k": 4,
    "w": "ab",
}
FUNCTIONS = {each.__name__: each for each in (abs, all, any, len, max, min, round, sorted, sum)}

Draw = Callable[[st.SearchStrategy[Any]], Any]


def python(code: str, names: dict[str, Any]) -> Any:
    """Return what Python itself makes of code that the evaluator accepts."""
    with warnings.catch_warnings(action="ignore"):  # about what is odd, and allowed
        return eval(code, {"__builtins__": {}, **FUNCTIONS, **names})


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]  # any value
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]  # any value
    return value


_ARITHMETIC = st.sampled_from(["+", "-", "*", "/", "//", "%"])
_COMPARISONS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes expressions whose operands fit. `rows` are the loop variables that hold a record."""

    draw: Draw
    depth: int
    rows: tuple[str, ...] = ()

    def one_of(self, *shapes: Callable[["_Writer"], str], leaf: int) -> str:
        """Draw a shape; where it is deep already, only one of the first `leaf`."""
        most = leaf if self.depth == 0 else len(shapes)
        shape: Callable[[_Writer], str] = self.draw(st.sampled_from(shapes[:most]))
        return shape(_Writer(self.draw, max(self.depth - 1, 0), self.rows))

    def number(self) -> str:
        return self.one_of(
            lambda w: repr(w.draw(st.integers(-50, 2**40))),
            lambda w: repr(w.draw(st.floats(-1e6, 1e6, allow_subnormal=False))),
            lambda w: w.draw(st.sampled_from(["k", "True", *(f'{row}["n"]' for row in w.rows)])),
            lambda w: f"({w.number()} {w.draw(_ARITHMETIC)} {w.number()})",
            lambda w: f"({w.draw(st.sampled_from('-+'))}{w.number()})",
            lambda w: f"({w.number()} if {w.truth()} else {w.number()})",
            lambda w: f"abs({w.number()})",
            lambda w: f"round({w.number()}, {w.draw(st.integers(-3, 3))})",
            lambda w: f"round({w.number()})",
            lambda w: f"{w.draw(st.sampled_from(['sum', 'min', 'max']))}({w.numbers()})",
            lambda w: f"max({w.number()}, {w.number()})",
            lambda w: f"len({w.draw(st.sampled_from([w.numbers, w.texts, w.text, w.distinct]))()})",
            lambda w: f"sum({w.loop(w.number)})",
            lambda w: f"{w.numbers()}[{w.draw(st.integers(-2, 2))}]",
            leaf=3,
        )

    def text(self) -> str:
        return self.one_of(
            lambda w: repr(w.draw(st.text("aé~b \"'\\", max_size=4))),
            lambda w: w.draw(st.sampled_from(["w", *(f'{row}["t"]' for row in w.rows)])),
            lambda w: f"({w.text()} + {w.text()})",
            lambda w: f"{w.text()}[{w.draw(st.sampled_from(['0', '-1', ':1', '1:', ':']))}]",
            lambda w: f"({w.text()} or {w.text()})",
            leaf=2,
        )

    def truth(self) -> str:
        return self.one_of(
            lambda w: w.draw(st.sampled_from(["True", "False"])),
            lambda w: f"({w.number()} {w.draw(_COMPARISONS)} {w.number()})",
            lambda w: f"({w.number()} < {w.number()} <= {w.number()})",
            lambda w: f"({w.text()} {w.draw(st.sampled_from(['in', 'not in', '==', '<']))} {w.text()})",
            lambda w: f"({w.number()} {w.draw(st.sampled_from(['in', 'not in']))} {w.numbers()})",
            lambda w: f"({w.text()} in {w.distinct()})",
            lambda w: f"(not {w.truth()})",
            lambda w: f"({w.truth()} {w.draw(st.sampled_from(['and', 'or']))} {w.truth()})",
            lambda w: f"{w.draw(st.sampled_from(['any', 'all']))}({w.loop(w.truth)})",
            leaf=1,
        )

    def numbers(self) -> str:
        return self.one_of(
            lambda w: f"[{', '.join(w.number() for _ in range(w.draw(st.integers(0, 3))))}]",
            lambda w: f"sorted({w.numbers()}, reverse={w.truth()})",
            lambda w: f"({w.numbers()} + {w.numbers()})",
            lambda w: f"{w.numbers()}[{w.draw(st.sampled_from([':2', '1:', '-1:']))}]",
            lambda w: f"[{w.loop(w.number)}]",
            leaf=1,
        )

    def texts(self) -> str:
        return self.one_of(
            lambda w: f"({w.text()}, {w.text()})",
            lambda w: f"sorted({w.distinct()})",
            lambda w: f"[{w.loop(w.text)}]",
            leaf=1,
        )

    def distinct(self) -> str:
        return f"{{{self.text()}, {self.text()}}}"

    def record(self) -> str:
        return f'{{"a": {self.number()}, {self.text()}: {self.numbers()}}}'

    def loop(self, each: Callable[[], str]) -> str:
        """Return `… for … in …`, whose parts know the loop's variable."""
        row = f"r{len(self.rows)}"
        inside = _Writer(self.draw, self.depth, (*self.rows, row))
        made = getattr(inside, each.__name__)()
        return f"{made} for {row} in rows{' if ' + inside.truth() if self.draw(st.booleans()) else ''}"


@st.composite
def expressions(draw: Draw) -> str:
    """Expressions in which every operand is of the kind that its operator wants."""
    writer = _Writer(draw, 3)
    kinds: list[Callable[[], str]] = [
        writer.number,
        writer.text,
        writer.truth,
        writer.numbers,
        writer.texts,
        writer.record,
    ]
    write: Callable[[], str] = draw(st.sampled_from(kinds))
    return write()


_TOKENS = """
( ) [ ] { } , : . + - * / % ** // < > == != <= >= = := @ | & ^ ~ ->
for in if else and or not is lambda await yield async import def None True False ...
rows k w r s __class__ __import__ __builtins__ _ print eval open sum len sorted max round
0 1 -1 2.5 1e999 99999999999999999999 0x1f 1j "" "n" "t" b"x" f"{k}" r"\\d" "\\ud800" \\ #
"""
_tokens = st.sampled_from(["\n", *_TOKENS.split()])

soup = st.lists(_tokens, max_size=30).map(" ".join)
"""What could be code, and seldom is."""


@st.composite
def bent(draw: Draw) -> str:
    """Expressions in which something else stands somewhere."""
    code: str = draw(expressions())
    at: int = draw(st.integers(0, len(code)))
    return f"{code[:at]} {draw(_tokens)} {code[at + draw(st.integers(0, 4)) :]}"
