"""Translate what connections and servers raise into the errors of a host."""

from collections.abc import Generator
from contextlib import contextmanager

from mcp.shared.exceptions import MCPError

from skillwire.errors import (
    FindingError,
    HostError,
    LoginRequiredError,
    SkillwireError,
    UnavailableError,
    VerificationError,
)
from skillwire.host.connections.errors import WantsLoginError
from skillwire.host.dialects.client import refusal
from skillwire.safe_text import quoted


@contextmanager
def translated_errors(origin: str, uri: str) -> Generator[None]:
    """Turn whatever a place raises into what a host raises: the SDK stumbles in many ways over nonsense."""
    try:
        yield
    except HostError:
        raise
    except FindingError as error:
        raise VerificationError(origin, error.finding) from error
    except MCPError as error:
        raise UnavailableError(origin, str(refusal(uri, error))) from error
    except WantsLoginError as error:
        raise LoginRequiredError(origin, str(error), error.scope) from error
    except SkillwireError as error:
        raise UnavailableError(origin, str(error)) from error
    except TimeoutError:
        raise
    except Exception as error:
        told = f"its answer could not be used: {quoted(str(error) or type(error).__name__)}"
        raise UnavailableError(origin, told) from error
