"""Requests of any method, and answers as they come: the SDK's client has no more than its specification."""

from typing import Any

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict

from skillwire.host.reaching.refused import wants_login


class _Params(types.RequestParams):
    model_config = ConfigDict(extra="allow")


class _Result(types.Result):
    model_config = ConfigDict(extra="allow")


class _Request(types.Request[_Params, str]):
    method: str
    params: _Params


async def ask(client: Client, method: str, **params: object) -> dict[str, Any]:
    """Return the result of a request as it came, without its `_meta`.

    Raises `MCPError`, or `WantsLoginError` if the server requires a login.
    """
    request = _Request(method=method, params=_Params.model_validate(params))
    try:
        result = await client.session.send_request(request, _Result)
    except MCPError as error:
        if (wanted := wants_login(error)) is not None:
            raise wanted from error
        raise
    return dict(result.model_extra or {})
