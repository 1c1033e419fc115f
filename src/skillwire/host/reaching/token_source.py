"""Who has the token for a server that demands a login."""

from typing import Protocol


class TokenSource(Protocol):
    """Gives out the access token of one server. It is sent to the origin of that server and nowhere else.

    Its methods may raise `SkillwireError`; then that is what is told of the server.
    """

    async def token(self) -> str | None:
        """Return the token to send; None if no one has logged in."""
        ...

    async def renewed(self, refused: str) -> str | None:
        """Return another token than one that the server refused; None if a new login is needed."""
        ...
