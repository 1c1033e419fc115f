"""A baseline: a file with the old problems of a repository, which `skillwire check` does not report again."""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from skillwire.config.report import CheckResult, located, places
from skillwire.config.rule_selection import ALWAYS_REPORTED, RuleSelection
from skillwire.config.source_kinds import is_local
from skillwire.core.atomic_write import replace_file
from skillwire.core.problem import Problem, Rule
from skillwire.errors import UsageError
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible, quoted

_VERSION = 1
_MAX_BYTES = 32 * 1024 * 1024
_MAX_COUNT = 1_000_000
_DIGEST_LENGTH = 16
_RULES = {rule.value: rule for rule in Rule}
_ABOUT_SEVERAL_SKILLS = frozenset(
    {
        Rule.NAME_SHARED,
        Rule.URI_TAKEN,
        Rule.CONTRACT_ID_TAKEN,
        Rule.CONTRACT_DEPENDENCY_CYCLE,
        Rule.CONTRACT_DEPENDENCY_BROKEN,
    }
)
"""Rules whose problems disappear if only some of the skills are checked."""
# A number outside code spans: the message of a problem may contain a number of lines, bytes or characters,
# which changes with every edit.
_CODE_OR_NUMBER = re.compile(r"(`[^`]*`)|\d[\d,.]*")


class Key(NamedTuple):
    """What identifies a problem, whatever its line is."""

    path: str
    """The path relative to the folder of the baseline file, or the address of a remote source."""
    rule: str
    field: str
    message: str
    """A digest of the message."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The old problems in a file, with the number of times each occurs."""

    file: Path
    counts: Counter[Key] = field(default_factory=Counter[Key])

    @classmethod
    def read(cls, file: Path) -> "Baseline":
        """Return the content of a baseline file. Raises `UsageError`."""
        try:
            with file.open("rb") as opened:
                content = opened.read(_MAX_BYTES + 1)
        except FileNotFoundError:
            raise UsageError(
                f"the baseline {quoted(str(file))} does not exist",
                hint="add `--write-baseline` to create it from the current problems",
            ) from None
        except OSError as error:
            raise UsageError(f"cannot read the baseline {quoted(str(file))}: {error.strerror}") from error
        if len(content) > _MAX_BYTES:
            raise _broken(file, f"it is larger than {_MAX_BYTES:,} bytes")
        return cls(file, _parsed(file, content))

    def keys(self, problems: Sequence[Problem], library: Library) -> list[Key | None]:
        """Return the key of each problem. None for a problem that a baseline cannot contain."""
        return [
            None if problem.rule in ALWAYS_REPORTED else self._key(problem)
            for problem in located(problems, library)
        ]

    def new(self, problems: Sequence[Problem], library: Library) -> list[Problem]:
        """Return the problems that are not in the baseline.

        If a problem occurs more often than in the baseline, the last of them are new.
        """
        left = Counter(self.counts)
        found: list[Problem] = []
        for problem, key in zip(problems, self.keys(problems, library), strict=True):
            if key is not None and left[key] > 0:
                left[key] -= 1
            else:
                found.append(problem)
        return found

    def written(self, current: Iterable[Key], covered: Callable[[Key], bool]) -> "Baseline":
        """Return the baseline of these problems. Keeps old entries that are not `covered` by the check."""
        kept = {key: count for key, count in self.counts.items() if not covered(key)}
        return Baseline(self.file, Counter({**kept, **Counter(current)}))

    def pruned(self, current: Iterable[Key], covered: Callable[[Key], bool]) -> "Baseline":
        """Return the baseline without the entries that no longer occur. Adds nothing."""
        now = Counter(current)
        left = {key: min(count, now[key]) if covered(key) else count for key, count in self.counts.items()}
        return Baseline(self.file, +Counter(left))

    def gone(self, current: Iterable[Key], covered: Callable[[Key], bool]) -> list[Key]:
        """Return the covered entries that occur less often than the baseline says."""
        now = Counter(current)
        return sorted(key for key, count in self.counts.items() if covered(key) and now[key] < count)

    def save(self) -> None:
        """Write the file. Raises `UsageError`."""
        entries = [{**key._asdict(), "count": count} for key, count in sorted(self.counts.items())]
        lines = ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
        listed = f"[\n{lines}\n  ]" if entries else "[]"
        text = f'{{\n  "version": {_VERSION},\n  "problems": {listed}\n}}\n'
        try:
            replace_file(self.file.resolve(), text.encode())
        except OSError as error:
            raise UsageError(
                f"cannot write the baseline {quoted(str(self.file))}: {error.strerror}",
                hint="name a file in a folder that exists",
            ) from error

    def covered(self, found: CheckResult, rules: RuleSelection) -> Callable[[Key], bool]:
        """Return a function that tells whether the check would have found a problem with a key."""
        base = self.file.absolute().parent
        roots = list(places(found.library).values())
        folders = [Path(os.path.abspath(root)) for root in roots if is_local(root)]  # noqa: PTH100 - keeps links
        addresses = [f"{root.rstrip('/')}/" for root in roots if not is_local(root)]

        def is_inside(key: Key) -> bool:
            path = Path(os.path.normpath(base / key.path))
            return any(map(path.is_relative_to, folders)) or f"{key.path}/".startswith(tuple(addresses))

        everything = all(map(is_inside, self.counts))

        def is_covered(key: Key) -> bool:
            rule = _RULES.get(key.rule)  # None for a rule of another version
            if rule is not None and not (rules.reports(rule) and found.covers(rule)):
                return False
            return is_inside(key) and (everything or rule not in _ABOUT_SEVERAL_SKILLS)

        return is_covered

    def _key(self, problem: Problem) -> Key:
        message = _CODE_OR_NUMBER.sub(lambda found: found[1] or "0", problem.message)
        digest = hashlib.sha256(message.encode(errors="replace")).hexdigest()[:_DIGEST_LENGTH]
        path = escape_invisible(self._shown(problem.path))
        return Key(path, problem.rule.value, escape_invisible(problem.field), digest)

    def _shown(self, path: str) -> str:
        if not is_local(path):
            return path.rstrip("/")
        return Path(os.path.relpath(path, self.file.absolute().parent)).as_posix()


def _parsed(file: Path, content: bytes) -> Counter[Key]:
    try:
        read: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _broken(file, "it is not JSON") from error
    if not isinstance(read, dict):
        raise _broken(file, "it is not an object")
    values = cast("dict[str, Any]", read)
    if values.get("version") != _VERSION:
        raise _broken(file, f"its version is not {_VERSION}")
    problems = values.get("problems")
    if not isinstance(problems, list):
        raise _broken(file, "`problems` is not a list")
    found: Counter[Key] = Counter()
    for number, each in enumerate(cast("list[Any]", problems), start=1):
        entry = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        parts = [entry.get(name) for name in Key._fields]
        count: Any = entry.get("count")
        whole = isinstance(count, int) and not isinstance(count, bool) and 0 < count <= _MAX_COUNT
        if not whole or not all(isinstance(part, str) for part in parts):
            raise _broken(file, f"problem number {number} does not have the fields of a problem")
        found[Key(*cast("list[str]", parts))] += count
    return found


def _broken(file: Path, reason: str) -> UsageError:
    return UsageError(
        f"the baseline {quoted(str(file))} cannot be used: {reason}",
        hint="remove the file, and create it again with `--write-baseline`",
    )
