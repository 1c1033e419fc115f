"""A method of a surface as a request handler of the SDK: where our errors become JSON-RPC errors."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict

from skillwire.model.errors import NotServedError, RequestError, SkillwireError
from skillwire.server.guard import TOKEN_SHOWN
from skillwire.surfaces.base import Answer, Call, Method
from skillwire.wire.messages import CACHEABLE, EXTENSION, Freshness
from skillwire.wire.translate import complete

_log = logging.getLogger(__name__)

Context: TypeAlias = ServerRequestContext[Any, Any]
Handler: TypeAlias = Callable[[Context, Any], Awaitable[Any]]

PRIVATE = Freshness(private=True)
"""For servers of others: nobody knows who may see what there (S12)."""

_ECHOED = 2048
"""How long a URI may be to be repeated in an error."""


class Params(types.RequestParams):
    """Takes anything: each surface looks at its own parameters, and says what is wrong with them."""

    model_config = ConfigDict(extra="allow")


def handler(name: str, method: Method, freshness: Freshness) -> Handler:
    """Return what answers requests for `name`, on every protocol version."""

    async def handle(context: Context, _params: types.RequestParams) -> dict[str, Any]:
        return await respond(name, method, freshness, context)

    return handle


async def respond(
    name: str, method: Method, freshness: Freshness, context: Context, call: Call | None = None
) -> dict[str, Any]:
    """Return the answer to a request, with what its protocol version wants of every result (S12)."""
    params = context.params or {} if call is None else call.params
    answer = await answered(name, method, Call(params, may_change(context), knows_skills(context)))
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return answer.result
    if name not in CACHEABLE:
        return complete(answer.result, None)
    return complete(answer.result, answer.freshness(freshness))


def may_change(context: Context) -> bool:
    """Return whether a request may change the server.

    A client on stdio is the user's own. Over HTTP, local processes and pages of allowed origins reach the
    server, so a request must have shown a token: the one of this server, or one that the SDK has verified.
    """
    request = context.request
    if request is None:
        return True
    scope: Mapping[str, Any] = getattr(request, "scope", {})
    return TOKEN_SHOWN in scope or isinstance(scope.get("user"), AuthenticatedUser)


def knows_skills(context: Context) -> bool:
    """Return whether the client declares the extension, in its handshake or with this request."""
    declared = context.session.client_capabilities
    return declared is not None and EXTENSION in (declared.extensions or {})


async def answered(name: str, method: Method, call: Call) -> Answer:
    """Return what `method` answers. Raises `MCPError`, and nothing else."""
    try:
        return await method(call)
    except NotServedError as error:
        data = {"uri": error.uri} if len(error.uri) <= _ECHOED else None
        raise MCPError(types.INVALID_PARAMS, str(error), data) from error
    except RequestError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from error
    except SkillwireError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
    except Exception as error:  # anything else would reach older clients in its own words
        _log.exception("`%s` failed", name)
        raise MCPError(types.INTERNAL_ERROR, "internal error; the server's log says more") from error
