"""Translate errors from connections and servers into `HostError`s."""

from collections.abc import Generator
from contextlib import contextmanager

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from skillwire.errors import (
    HostError,
    LoginRequiredError,
    NotServedError,
    SkillwireError,
    UnavailableError,
    VerificationError,
)
from skillwire.host.dialects.client import refusal
from skillwire.safe_text import quoted

_RESOURCE_NOT_FOUND = -32002
"""The error code for an unknown resource before protocol 2026-07-28. Since then, it is `INVALID_PARAMS`."""


@contextmanager
def translated_errors(origin: str, uri: str) -> Generator[None]:
    """Convert any exception except `TimeoutError` to a `HostError` that names `origin`, a server or folder.

    A `HostError` that already names its origin stays as it is. Malformed responses make the SDK raise many
    kinds of exceptions, so all kinds are converted. `uri` is the requested URI or method.
    """
    try:
        yield
    except HostError as error:
        if error.origin:
            raise
        raise _with_origin(error, origin) from error
    except MCPError as error:
        raise UnavailableError(origin, str(refusal(uri, error))) from error
    except SkillwireError as error:
        raise UnavailableError(origin, str(error)) from error
    except TimeoutError:
        raise
    except Exception as error:
        message = f"its answer could not be used: {quoted(str(error) or type(error).__name__)}"
        raise UnavailableError(origin, message) from error


def is_missing(error: UnavailableError) -> bool:
    """Return whether an error of `translated_errors` means that nothing is served at the requested URI."""
    match error.__cause__:
        case MCPError(code=code):
            return code in {INVALID_PARAMS, _RESOURCE_NOT_FOUND}
        case cause:
            return isinstance(cause, NotServedError)


def _with_origin(error: HostError, origin: str) -> HostError:
    match error:
        case VerificationError():
            return VerificationError(origin, *error.problems)
        case LoginRequiredError():
            return LoginRequiredError(origin, error.message, error.scope)
        case _:
            return UnavailableError(origin, error.message)
