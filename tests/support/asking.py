"""Requests that the SDK's client has no method for."""

from typing import Any

import mcp_types as types
from mcp import Client
from pydantic import ConfigDict


class _Params(types.RequestParams):
    model_config = ConfigDict(extra="allow")


class _Result(types.Result):
    model_config = ConfigDict(extra="allow")


class _Request(types.Request[_Params, str]):
    method: str
    params: _Params


async def ask(client: Client, method: str, **params: object) -> dict[str, Any]:
    """Return the result of any request, as it came."""
    request = _Request(method=method, params=_Params.model_validate(params))
    result = await client.session.send_request(request, _Result)
    return result.model_dump(by_alias=True, exclude_none=True)
