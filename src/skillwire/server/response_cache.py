"""The response cache: responses to frequent requests, stored as bytes and sent without the SDK.

The cache calls the same features for `skills/list`, `skills/get` and `resources/read` as the SDK. A stored
response is used only while its validator is current, so file bytes always match the listed digest (S19). The
SDK sends all error responses, and answers every request that does not have exactly a known shape.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard, cast

import orjson

from skillwire.core.record import Json
from skillwire.errors import SkillwireError
from skillwire.features.base import Call, Feature
from skillwire.protocol.bounds import MAX_ID_BYTES, MAX_PARAMETER_BYTES, is_longer
from skillwire.protocol.messages import RESOURCES_READ, SKILLS_GET, SKILLS_LIST, Freshness
from skillwire.protocol.translate import complete
from skillwire.sources.base import Validator

MODERN_VERSION = "2026-07-28"
MCP_META_PREFIX = "io.modelcontextprotocol/"

BEFORE_ID, BEFORE_RESULT = b'{"jsonrpc":"2.0","id":', b',"result":'
"""The bytes of a response before its id, and between its id and its result."""

BUDGET = 16 * 1024 * 1024
"""Maximum total size of cached responses, in bytes."""
_LARGEST = BUDGET // 4
"""Maximum size of one cached response in bytes. A larger response would evict too many others."""

MAX_MESSAGE_LENGTH = MAX_PARAMETER_BYTES
"""Maximum size of a request that the cache handles, in bytes.

In a message this short, no parameter exceeds its limit.
"""

_MAX_SEEN_KEYS = 8192
"""Maximum number of questions remembered as requested before."""

_ARGUMENT = {SKILLS_LIST: "cursor", SKILLS_GET: "uri", RESOURCES_READ: "uri"}
"""The only parameter of each cached method. Only `skills/list` may omit it."""
CACHED_METHODS = tuple(_ARGUMENT)
"""The methods whose responses are cached."""
_VERSION, _CAPABILITIES = f"{MCP_META_PREFIX}protocolVersion", f"{MCP_META_PREFIX}clientCapabilities"
_CLIENT = frozenset({"name", "version", "title"})


class Question(NamedTuple):
    """A request without its id that the cache can answer. It is the key of a cached response."""

    method: str
    argument: str | None
    modern: bool

    def to_call(self) -> Call:
        """Convert the question to a call of the method that answers it."""
        return Call({} if self.argument is None else {_ARGUMENT[self.method]: self.argument})


class ResponseCache:
    """Caches responses that were requested more than once, up to a total size. Evicts the oldest first.

    A client that lists or reads everything only once adds nothing to the cache, and evicts nothing.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        freshness: Freshness,
        *,
        name: str,
        version: str,
        budget: int = BUDGET,
    ) -> None:
        """Create a cache.

        `name` and `version` identify the server in every response of protocol 2026-07-28.
        """
        self._features = {
            method: each for each in features for method in each.methods() if method in _ARGUMENT
        }
        self._freshness = freshness
        self._stamp: dict[str, Json] = {f"{MCP_META_PREFIX}serverInfo": {"name": name, "version": version}}
        self._entries: dict[Question, tuple[Validator, bytes]] = {}
        self._room = self._budget = budget
        self._seen_keys: set[int] = set()
        """Hashes of the questions requested so far. A collision only caches a response earlier."""

    @property
    def private(self) -> bool:
        """Whether responses are marked as private to one client."""
        return self._freshness.private

    @property
    def cached_bytes(self) -> int:
        """Current total size of cached responses, in bytes."""
        return self._budget - self._room

    def get_cached(self, cache_key: Question) -> bytes | None:
        """Return the cached result for a question, or None if there is none or it is out of date."""
        known = self._entries.get(cache_key)
        if known is None:
            return None
        if known[0].is_current():
            return known[1]
        self._forget(cache_key)
        return None

    async def prepare(self, cache_key: Question) -> bytes | None:
        """Compute the result for a question, and cache it if it was requested before.

        Return None if the SDK must answer: for an error, and for a result that must not or cannot be cached.
        """
        call = cache_key.to_call()
        feature = self._features.get(cache_key.method)
        if feature is None or (validator := feature.validator(cache_key.method, call)) is None:
            return None
        try:
            answer = await feature.methods()[cache_key.method](call)
        except SkillwireError:
            return None
        if answer.private:  # a question does not contain the client's identity
            return None
        result = answer.result
        if cache_key.modern:
            result = complete(result, answer.freshness(self._freshness))
            result["_meta"] = {**cast("dict[str, Json]", result.get("_meta") or {}), **self._stamp}
        try:
            encoded = orjson.dumps(result)
        except orjson.JSONEncodeError:  # for example, an integer of more than 64 bits in a frontmatter
            return None
        if self._is_repeated(cache_key) and validator.is_current():
            self._store(cache_key, validator, encoded)
        return encoded

    def _is_repeated(self, cache_key: Question) -> bool:
        """Return whether a question was requested before. Remembers at most `_MAX_SEEN_KEYS`."""
        if (hashed := hash(cache_key)) in self._seen_keys:
            return True
        if len(self._seen_keys) >= _MAX_SEEN_KEYS:
            self._seen_keys.clear()
        self._seen_keys.add(hashed)
        return False

    def _store(self, cache_key: Question, validator: Validator, encoded: bytes) -> None:
        self._forget(cache_key)
        if len(encoded) > min(_LARGEST, self._budget):
            return
        self._room -= len(encoded)
        while self._room < 0:
            self._forget(next(iter(self._entries)))
        self._entries[cache_key] = validator, encoded

    def _forget(self, cache_key: Question) -> None:
        known = self._entries.pop(cache_key, None)
        if known is not None:
            self._room += len(known[1])


def wrap_result(request_id: bytes, result: bytes, end: bytes = b"") -> bytes:
    """Return a JSON-RPC response from an encoded id and an encoded result, followed by `end`."""
    return b"".join((BEFORE_ID, request_id, BEFORE_RESULT, result, b"}", end))


def parse_modern_request(message: object) -> tuple[str | int, Question] | None:
    """Return the id and question of a protocol 2026-07-28 request, or None if the cache cannot answer it."""
    if not _is_object(message) or len(message) != 4 or not _is_request(message):
        return None
    params = message.get("params")
    if not _is_object(params) or not _is_plain_envelope(params.get("_meta")):
        return None
    return _parse_request(message, params, others=1, modern=True)


def parse_legacy_request(message: object) -> tuple[str | int, Question] | None:
    """Return the id and question of a request after `initialize`, or None if the cache cannot answer it."""
    if not _is_object(message) or not _is_request(message):
        return None
    params = message.get("params", {})
    if not _is_object(params) or len(message) != (4 if "params" in message else 3) or "_meta" in params:
        return None
    return _parse_request(message, params, others=0, modern=False)


def _parse_request(
    message: dict[str, Any], params: dict[str, Any], *, others: int, modern: bool
) -> tuple[str | int, Question] | None:
    """Return the id and question of a request, or None.

    `params` must contain only the method's argument and `others` keys, which are already checked.
    """
    method: str = message["method"]
    argument = params.get(_ARGUMENT[method])
    if argument is None:
        if method != SKILLS_LIST or len(params) != others:
            return None
    elif type(argument) is not str or len(params) != others + 1:
        return None
    return message["id"], Question(method, argument, modern)


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return type(value) is dict


def _is_request(message: dict[str, Any]) -> bool:
    return (
        message.get("jsonrpc") == "2.0"
        and _is_id(message.get("id"))
        and type(method := message.get("method")) is str
        and method in _ARGUMENT
    )


def _is_id(value: object) -> bool:
    return type(value) is int or (type(value) is str and not is_longer(value, MAX_ID_BYTES))


def _is_plain_envelope(meta: object) -> bool:
    """Return whether `_meta` has the required members of protocol 2026-07-28, and no unknown or bad ones."""
    if not _is_object(meta) or _CAPABILITIES not in meta or _VERSION not in meta:
        return False
    for key, value in meta.items():
        known = _ENVELOPE.get(key)
        if known is None or not known(value):
            return False
    return True


def _is_client(value: object) -> bool:
    if not _is_object(value) or "name" not in value or "version" not in value:
        return False
    return all(key in _CLIENT and type(each) is str for key, each in value.items())


def _is_capabilities(value: object) -> bool:
    if not _is_object(value):
        return False
    return all(key in _DECLARED and _DECLARED[key](each) for key, each in value.items())


def _is_object_of_objects(value: object) -> bool:
    return _is_object(value) and all(_is_object(each) for each in value.values())


def _is_roots(value: object) -> bool:
    return _is_object(value) and all(
        key == "listChanged" and type(each) is bool for key, each in value.items()
    )


def _is_sampling(value: object) -> bool:
    return _is_object_of_objects(value) and cast("dict[str, Any]", value).keys() <= {"context", "tools"}


def _is_elicitation(value: object) -> bool:
    return _is_object_of_objects(value) and cast("dict[str, Any]", value).keys() <= {"form", "url"}


_DECLARED: Mapping[str, Callable[[object], bool]] = {
    "roots": _is_roots,
    "sampling": _is_sampling,
    "elicitation": _is_elicitation,
    "extensions": _is_object_of_objects,
    "experimental": _is_object_of_objects,
}
_ENVELOPE: Mapping[str, Callable[[object], bool]] = {
    _VERSION: lambda value: value == MODERN_VERSION,
    _CAPABILITIES: _is_capabilities,
    f"{MCP_META_PREFIX}clientInfo": _is_client,
    "progressToken": _is_id,
}
