"""`--fix`: show what would be written, ask, and write it."""

import difflib
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from skillwire.cli.output import print_error, talk
from skillwire.cli.saying import counted
from skillwire.contract.fixes import FIXES, fixed
from skillwire.model.display import quoted, visible
from skillwire.model.errors import UsageError
from skillwire.model.problem import Problem, Rule
from skillwire.sources.replace import remove_abandoned, replace_file

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class Repair:
    """A file as it is, and as it should be."""

    path: str
    file: Path
    before: bytes
    after: bytes


def repairs_of(problems: Iterable[Problem], folders: Mapping[str, Path], key: str) -> list[Repair]:
    """Return what can be mended without asking, as it would be written. Changes nothing."""
    rules: defaultdict[str, list[Rule]] = defaultdict(list)
    for problem in problems:
        if problem.rule in FIXES and problem.path in folders:
            rules[problem.path].append(problem.rule)
    repairs: list[Repair] = []
    for path, broken in rules.items():
        file = folders[path] / Path(path).name
        before = file.read_bytes()
        after = fixed(before, broken, key, file.resolve().parent.name)
        if after != before:
            repairs.append(Repair(path, file, before, after))
    return repairs


def agreed(repairs: list[Repair], *, yes: bool) -> bool:
    """Show a diff; whether to write it: with `--yes`, or if the person at the terminal says so."""
    console = talk()
    for repair in repairs:
        for line in _diff(repair):
            console.print(Text(visible(line, keep="\t"), _COLOURS.get(line[0], "")))
    if yes:
        return True
    mended = counted(len(repairs), "file")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        print_error(f"{mended} could be mended, and nothing was written", hint="`--fix --yes` writes it")
        return False
    console.print(f"write this to {mended}? [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def write(repairs: Iterable[Repair]) -> None:
    """Write every file, unless somebody else has changed it meanwhile."""
    for repair in repairs:
        try:
            if repair.file.read_bytes() != repair.before:
                raise UsageError(f"{quoted(repair.path)} was changed meanwhile", hint="run it again")
            target = repair.file.resolve()
            remove_abandoned(target.parent, {target.name})
            replace_file(target, repair.after)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise UsageError(f"{quoted(repair.path)} cannot be written: {reason}") from error


def _diff(repair: Repair) -> Iterable[str]:
    before, after = (text.decode(errors="replace").splitlines() for text in (repair.before, repair.after))
    lines = difflib.unified_diff(before, after, f"a/{repair.path}", f"b/{repair.path}", lineterm="")
    return (line for line in lines if line)
