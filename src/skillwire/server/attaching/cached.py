"""The response cache for servers that skills are attached to.

`skillwire serve` sends cached bytes before the SDK sees the request. An existing server may have middleware,
authorization and transports of its own, so here the cache answers inside of all of them, in place of the
handler. It saves reading, hashing and describing a file, and the SDK's validation.
"""

from collections.abc import Sequence
from typing import Any

import orjson
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from skillwire.features.base import Feature
from skillwire.server.build import PRIVATE, Context
from skillwire.server.cached_requests import MCP_META_PREFIX, MODERN_VERSION, Question, parse_message
from skillwire.server.response_cache import ResponseCache

SERVER_INFO = f"{MCP_META_PREFIX}serverInfo"
"""The key in `_meta` under which every result of protocol 2026-07-28 identifies the server."""


class CachedResponses:
    """Answers requests for skills with results that are equal to those of the SDK, as new objects."""

    def __init__(self, features: Sequence[Feature]) -> None:
        """Answer with the methods of `features`."""
        # The attached server identifies itself in the results.
        self._cache = ResponseCache(features, PRIVATE, name="", version="")

    async def find(self, context: Context, *, bare: bool = False) -> dict[str, Any] | None:
        """Return the result of a request, or None if the server's handler must answer it.

        With `bare`, the result has no fields about caching: the server adds its own. No result identifies
        the server. The caller may change the result.
        """
        question = _question(context)
        if question is None:
            return None
        if bare:
            question = question._replace(modern=False)
        cache = self._cache
        encoded = cache.get_cached(question) or cache.answer_now(question) or await cache.prepare(question)
        if encoded is None:
            return None
        result: dict[str, Any] = orjson.loads(encoded)
        if question.modern and len(meta := result["_meta"]) > 1:
            del meta[SERVER_INFO]
        elif question.modern:
            del result["_meta"]
        return result


def _question(context: Context) -> Question | None:
    """Return the question of a request. Return None if the SDK might refuse it, or answer it differently."""
    message: dict[str, object] = {"jsonrpc": "2.0", "id": context.request_id, "method": context.method}
    if context.params is not None:
        message["params"] = context.params
    modern = context.protocol_version == MODERN_VERSION
    if not modern and (
        context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.client_capabilities is None
    ):
        return None  # before the handshake, the SDK refuses every request
    parsed = parse_message(message, modern=modern)
    return None if parsed is None else parsed[1]
