"""What is remembered of a publisher from one visit to the next, as a small JSON file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import orjson

from skillwire.model.digest import Digest
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.sources.publisher.fetching import Validators


@dataclass(frozen=True, slots=True)
class Held:
    """A skill that was fetched, found good, and is on this machine."""

    key: str
    """Names its folder on the shelf: the same name with the same content has the same key."""
    size: int
    """Bytes of all its files."""
    validators: Mapping[str, Validators] = field(default_factory=dict[str, Validators])
    """For a skill without a digest: by what the server knows each of its files."""


@dataclass(frozen=True, slots=True)
class State:
    """The outcome of the last visit."""

    address: str = ""
    """Where the index was asked for."""
    index: Digest | None = None
    validators: Validators = field(default_factory=Validators)
    skills: Mapping[str, Held] = field(default_factory=dict[str, Held])
    """What the newest copy holds, by name."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """By key, why a download that is what the index promised cannot be used: it need not be fetched again."""
    versions: tuple[str, ...] = ()
    """The newest copy, and the one before it."""
    problems: tuple[Problem, ...] = ()

    def render(self) -> bytes:
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        told["index"] = None if self.index is None else {"text": self.index.text}
        return orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Return what was rendered; nothing at all where it is damaged: then everything is fetched anew."""
        try:
            return cls._parse(orjson.loads(content))
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls()

    @classmethod
    def _parse(cls, value: Any) -> Self:
        index = value["index"]
        return cls(
            address=str(value["address"]),
            index=None if index is None else Digest(index["text"]),
            validators=Validators(**value["validators"]),
            skills={name: _held(held) for name, held in value["skills"].items()},
            refused=dict(value["refused"]),
            versions=tuple(Digest(version).text for version in value["versions"]),
            problems=tuple(_problem(problem) for problem in value["problems"]),
        )


def _held(value: Any) -> Held:
    validators = {path: Validators(**each) for path, each in value["validators"].items()}
    return Held(str(value["key"]), int(value["size"]), validators)


def _problem(value: Any) -> Problem:
    return Problem(
        path=value["path"],
        rule=Rule(value["rule"]),
        severity=Severity(value["severity"]),
        message=value["message"],
        hint=value["hint"],
        field=value["field"],
        line=value["line"],
    )
