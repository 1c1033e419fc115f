"""What a person is told of a server that demands a login."""

import re
import shlex
from dataclasses import dataclass

from skillwire.model.display import quoted

_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*")
_LONGEST_SCOPE = 300


@dataclass(frozen=True, slots=True)
class LoginAdvice:
    """Sentences that name the command to log in with."""

    label: str
    argument: str
    """What `skillwire login` is to be given: the label, or the URL of a server that has none in a file."""

    def command(self, scope: str = "") -> str:
        more = f" --scope {shlex.quote(scope)}" if scope else ""
        return quoted(f"skillwire login {shlex.quote(self.argument)}{more}", None)

    def needed(self) -> str:
        return f"{quoted(self.label)} requires a login: run {self.command()}"

    def over(self) -> str:
        return f"{quoted(self.label)} requires a login, and yours is over: log in again with {self.command()}"

    def refused(self) -> str:
        told = "check the variable or header that holds it"
        return f"{quoted(self.label)} requires a login, and refuses the token that it was sent: {told}"

    def lacking(self, scope: str) -> str:
        known = scope if len(scope) <= _LONGEST_SCOPE and _SCOPE.fullmatch(scope) else ""
        what = f"the scope {quoted(scope, _LONGEST_SCOPE)}" if scope else "more rights than your login has"
        how = self.command(known or "SCOPE")
        return f"{quoted(self.label)} requires {what}: log in again with {how}"
