"""Messages about servers that require a login: what is wrong, and what the user can do."""

import re
import shlex
from dataclasses import dataclass

from skillwire.safe_text import quoted

_SCOPES = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*")
"""One or more scopes, in the syntax of RFC 6749."""
_LONGEST_SCOPE = 300


@dataclass(frozen=True, slots=True)
class LoginAdvice:
    """The messages to the user about one server that requires a login."""

    label: str
    argument: str
    """The argument for `skillwire login`: the label, or the URL of a server that is not configured."""

    def command(self, scope: str = "") -> str:
        more = f" --scope {shlex.quote(scope)}" if scope else ""
        return quoted(f"skillwire login {shlex.quote(self.argument)}{more}", None)

    def needed(self) -> str:
        message = f"{quoted(self.label)} requires a login: log in with {self.command()}"
        if "://" not in self.argument:  # the client's file configures it, also its token
            return message
        source = "`skillwire sources add --token-env` for a source that you serve"
        return f"{message}; if you have a token, name its variable with `--token-env` ({source})"

    def expired(self) -> str:
        return f"{quoted(self.label)} requires a login, and yours has expired: log in with {self.command()}"

    def refused(self) -> str:
        message = f"{quoted(self.label)} requires a login, and refuses yours"
        return f"{message}: try again later, or log in with {self.command()}"

    def not_renewed(self, why: str) -> str:
        message = f"{quoted(self.label)} requires a login, and yours could not be renewed: {why}"
        return f"{message}; try again later, or log in with {self.command()}"

    def token_refused(self) -> str:
        message = f"{quoted(self.label)} requires a login, and refuses the token that it was sent"
        return f"{message}: check the variable or header that contains it"

    def scope_missing(self, scope: str) -> str:
        known = scope if len(scope) <= _LONGEST_SCOPE and _SCOPES.fullmatch(scope) else ""
        what = f"the scope {quoted(scope, _LONGEST_SCOPE)}" if scope else "more rights than your login has"
        return f"{quoted(self.label)} requires {what}: log in with {self.command(known or 'SCOPE')}"
