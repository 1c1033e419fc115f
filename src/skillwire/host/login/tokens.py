"""Use the token of a stored login. Only one process at a time renews it. The user is never asked."""

from dataclasses import replace

import anyio
from anyio.to_thread import run_sync

from skillwire.errors import KeyringStateError, LoginError, LoginRequiredError, UnavailableError
from skillwire.host.connections.target import Target
from skillwire.host.store.login_record import LoginExpiredError, LoginRecord, LoginServerError
from skillwire.host.store.logins import Logins

_KEYRING_PAUSE = 60.0
"""Seconds after which a keyring that failed is read again, if the login has not changed."""


def with_login(target: Target, logins: Logins) -> Target:
    """Return a target that uses the stored login of its server.

    A target without a URL, or with another source of its token, is returned unchanged.
    """
    if target.url is None or target.has_token or target.tokens is not None:
        return target
    return replace(target, tokens=StoredLogin(logins, target))


def uses_login(target: Target) -> bool:
    """Return whether a target takes its token from the stored login, if there is one."""
    return isinstance(target.tokens, StoredLogin) and not target.has_token


async def keep_login(logins: Logins, record: LoginRecord) -> LoginRecord:
    """Store a new login, and return it as stored. Raises `StateError`."""
    async with logins.locked(record.label):
        return await run_sync(logins.save, record)


class StoredLogin:
    """Supplies the token of a server's stored login, and renews it after it has expired or was refused.

    The login is read again when another process changes it.
    """

    def __init__(self, logins: Logins, target: Target) -> None:
        self._logins, self._label, self._identity = logins, target.login_label, target.login_identity
        self._url, self._advice = target.url or "", target.advice
        self._stamp: tuple[int, ...] | None = None
        self._known: LoginRecord | None = None
        self._keyring_failed: tuple[KeyringStateError | None, float] = None, 0.0

    async def token(self) -> str | None:
        """Return the token to send. A token that has expired is renewed first.

        Return None if no one has logged in, or if the login server refuses to renew the token. Raises
        `StateError` or `UnavailableError`, such as `LoginRequiredError`.
        """
        record = await self._record()
        if record is None:
            return None
        if record.tokens is None or not record.tokens.access:
            raise LoginRequiredError("", self._advice.expired())
        if not record.expired:
            return record.tokens.access
        return await self.renewed(record.tokens.access)

    async def renewed(self, refused: str) -> str | None:
        """Return a new token to replace a refused or expired token, or None if a login is needed.

        Each refresh token is used only once, even if several tasks and processes renew at the same time.
        Raises the same errors as `token`.
        """
        async with self._logins.locked(self._label):
            record = await self._record()
            if record is None or record.tokens is None:
                return None
            if record.tokens.access != refused and not record.expired:
                return record.tokens.access  # another task or process has renewed the token
            if not record.tokens.refresh and not record.expired:
                raise LoginRequiredError("", self._advice.refused())  # the refusal may be temporary
            # Once the request is sent, the old refresh token may be invalid. If the request were cancelled,
            # the new refresh token would be lost, and therefore the login. The request has its own time
            # limit.
            with anyio.CancelScope(shield=True):
                return await self._renewed(record)

    async def _renewed(self, record: LoginRecord) -> str | None:
        from skillwire.host.login.login_server import renew  # noqa: PLC0415 - slow to load and rarely needed

        try:
            fresh = await renew(record, self._url)
        except LoginExpiredError:
            await run_sync(self._logins.save, record.without_tokens())
            return None
        except (LoginServerError, LoginError) as error:
            raise UnavailableError("", self._advice.not_renewed(str(error))) from error
        await run_sync(self._logins.save, fresh)
        return None if fresh.tokens is None else fresh.tokens.access

    async def _record(self) -> LoginRecord | None:
        stamp = self._logins.stamp(self._label)
        if stamp is None:
            self._known = None
        elif stamp != self._stamp or self._known is None:
            self._known = await self._read(stamp)
        self._stamp = stamp
        return self._known

    async def _read(self, stamp: tuple[int, ...]) -> LoginRecord | None:
        """Return the login with its tokens.

        A keyring that failed is not read again before `_KEYRING_PAUSE` has passed or the login has changed.
        """
        failed, until = self._keyring_failed
        if failed is not None and stamp == self._stamp and anyio.current_time() < until:
            raise failed
        try:
            return await run_sync(
                self._logins.with_tokens, self._label, self._identity, abandon_on_cancel=True
            )
        except KeyringStateError as error:
            self._stamp = stamp
            self._keyring_failed = error, anyio.current_time() + _KEYRING_PAUSE
            raise
