"""What a person names to reach a server: a URL, or a command that starts one."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from skillwire.model.display import quoted
from skillwire.model.errors import UsageError

COMMAND = "stdio:"
"""What stands before a command where a server is meant. `-- command` means the same."""


@dataclass(frozen=True, slots=True)
class Target:
    """How to reach one server."""

    label: str
    """What the person calls it. Nothing that the server says of itself counts (H9)."""
    url: str | None = None
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables that a command gets beside those of the person."""
    token: str | None = field(default=None, repr=False)
    """The bearer token for the URL, and for no other origin."""

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Return the target of a URL, or of `stdio:` and a command. Raises `UsageError`."""
        if text.startswith(("http://", "https://")):
            return cls(text, url=text)
        if text.startswith(COMMAND):
            try:
                words = shlex.split(text.removeprefix(COMMAND))
            except ValueError as error:
                raise UsageError(f"{quoted(text)} is no command: {error}", hint="close its quotes") from error
            if words:
                return cls(shlex.join(words), command=tuple(words))
        raise UsageError(
            f"{quoted(text)} is no server",
            hint="write a URL, or the command that starts one behind `--`, as in `-- python server.py`",
        )

    def with_token(self, token: str | None) -> "Target":
        """Return the target with a bearer token. Raises `UsageError` where none can be sent."""
        if token is not None and self.url is None:
            raise UsageError(
                "a bearer token is for a URL, and this server is started by a command",
                hint="leave out `--token-env`: the command gets all your variables",
            )
        return replace(self, token=token)
