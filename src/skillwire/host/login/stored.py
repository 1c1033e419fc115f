"""The token of a stored login, renewed by one process at a time. No person is asked for anything."""

from dataclasses import replace

import anyio
from anyio.to_thread import run_sync

from skillwire.host.login.errors import LoginError, OverError, UnansweredError
from skillwire.host.login.record import LoginRecord
from skillwire.host.login.store import Logins
from skillwire.host.reaching.errors import UnreachableError, WantsLoginError
from skillwire.host.reaching.target import Target
from skillwire.model.display import quoted
from skillwire.model.errors import StateError

_PATIENCE = 30.0
"""Seconds for a keyring to answer. It may wait for a person who is not there."""


def with_login(target: Target, logins: Logins, label: str = "") -> Target:
    """Return a target that uses a stored login of its own, as far as it is reached by a URL.

    `label` is that of the login, if it is not the target's.
    """
    if target.url is None or target.has_token or target.tokens is not None:
        return target
    return replace(target, tokens=StoredLogin(logins, target, label or target.label))


async def keep_login(logins: Logins, record: LoginRecord) -> LoginRecord:
    """Keep a new login, and return it as kept. Raises `StateError`."""
    async with logins.locked(record.label):
        return await run_sync(logins.save, record)


class StoredLogin:
    """Reads the login of one server anew whenever it has changed: another process may log in or out."""

    def __init__(self, logins: Logins, target: Target, label: str) -> None:
        self._logins, self._label, self._identity = logins, label, target.identity
        self._url = target.url or ""
        self._shown, self._over = target.label, target.advice.over()
        self._stamp: tuple[int, ...] | None = None
        self._known: LoginRecord | None = None

    async def token(self) -> str | None:
        """Return the token to send; None if no one has logged in.

        Raises `StateError` or `UnreachableError`.
        """
        record = await self._record()
        if record is None:
            return None
        if record.tokens is None or not record.tokens.access:
            raise WantsLoginError(self._over)
        if not record.expired:
            return record.tokens.access
        return await self.renewed(record.tokens.access)

    async def renewed(self, refused: str) -> str | None:
        """Return another token than one that was refused, or has expired; None if a new login is needed.

        The refresh token is used once, however many processes want that. Raises as `token` does.
        """
        async with self._logins.locked(self._label):
            record = await self._record()
            if record is None or record.tokens is None:
                return None
            if record.tokens.access != refused and not record.expired:
                return record.tokens.access  # somebody else was faster
            try:
                fresh = await _renewed(record, self._url)
            except OverError:
                await run_sync(self._logins.save, record.without_tokens())
                return None
            except (UnansweredError, LoginError) as error:
                told = f"{quoted(self._shown)} requires a login, and yours could not be renewed: {error}"
                raise UnreachableError(told) from error
            with anyio.CancelScope(shield=True):  # the old refresh token may be good for nothing by now
                await run_sync(self._logins.save, fresh)
            return None if fresh.tokens is None else fresh.tokens.access

    async def _record(self) -> LoginRecord | None:
        stamp = self._logins.stamp(self._label)
        if stamp is None:
            self._known = None
        elif stamp != self._stamp or self._known is None:
            try:
                with anyio.fail_after(_PATIENCE):
                    self._known = await run_sync(
                        self._logins.with_tokens, self._label, self._identity, abandon_on_cancel=True
                    )
            except TimeoutError as error:
                told = f"the keyring did not give out the login of {quoted(self._shown)}"
                raise StateError(told, hint="unlock it") from error
        self._stamp = stamp
        return self._known


async def _renewed(record: LoginRecord, url: str) -> LoginRecord:
    from skillwire.host.login.renewing import renew  # noqa: PLC0415 - it takes a while to load, and is seldom needed

    return await renew(record, url)
