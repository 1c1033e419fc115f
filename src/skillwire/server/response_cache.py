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
from skillwire.features.base import Answer, Call, Feature
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

_MAX_MESSAGE_BYTES = MAX_PARAMETER_BYTES
"""Maximum size of a request that the cache handles, in bytes, without its trace context.

In a message this short, no parameter exceeds its limit.
"""
MAX_TRACE_BYTES = 16 * 1024
"""Maximum size of a request's trace context, in bytes. W3C allows 8 KiB of `baggage`, and less of the others.
"""
TRACE_KEYS = ("traceparent", "tracestate", "baggage")
"""The keys of the trace context in `_meta` (SEP-414). Their values are strings, and affect no response.

As W3C requires, a value that is not in the right format is ignored like one that is.
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
        self._usual = complete({}, freshness)
        """The fields of a response that is neither live nor private."""
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

    def answer_now(self, cache_key: Question) -> bytes | None:
        """Compute the result for a question without waiting, and cache it if it was requested before.

        Return None if that is impossible. Then `prepare` may still return the result. Until a question is
        repeated, its response is not compared with anything later, so it needs no validator: the feature has
        just checked the bytes against the digest.
        """
        if (feature := self._features.get(cache_key.method)) is None:
            return None
        call, is_repeated = cache_key.to_call(), self._is_repeated(cache_key)
        validator = feature.validator(cache_key.method, call) if is_repeated else None
        try:
            answer = feature.answer_now(cache_key.method, call)
        except Exception:  # noqa: BLE001 - the method itself fails in the same way, and that is reported
            return None
        if answer is None or (encoded := self._encode(cache_key, answer)) is None:
            return None
        if validator is not None:
            self._store(cache_key, validator, encoded)
        elif not is_repeated:
            self._note(cache_key)
        return encoded

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
        if (encoded := self._encode(cache_key, answer)) is None:
            return None
        if self._is_repeated(cache_key):
            self._store(cache_key, validator, encoded)
        else:
            self._note(cache_key)
        return encoded

    def _encode(self, cache_key: Question, answer: Answer) -> bytes | None:
        """Return an answer as JSON, or None if the SDK must send it."""
        if answer.private:  # a question does not contain the client's identity
            return None
        result = answer.result
        if cache_key.modern:
            usual = self._usual if not answer.live else complete({}, answer.freshness(self._freshness))
            meta = result.get("_meta")
            stamp = self._stamp if meta is None else {**cast("dict[str, Json]", meta), **self._stamp}
            result = {**usual, **result, "_meta": stamp}
        try:
            return orjson.dumps(result)
        except orjson.JSONEncodeError:  # for example, an integer of more than 64 bits in a frontmatter
            return None

    def _is_repeated(self, cache_key: Question) -> bool:
        """Return whether a question was answered before."""
        return hash(cache_key) in self._seen_keys

    def _note(self, cache_key: Question) -> None:
        """Remember that a question was answered, for at most `_MAX_SEEN_KEYS` questions."""
        if len(self._seen_keys) >= _MAX_SEEN_KEYS:
            self._seen_keys.clear()
        self._seen_keys.add(hash(cache_key))

    def _store(self, cache_key: Question, validator: Validator, encoded: bytes) -> None:
        """Cache a response, unless it is too large, or its validator is no longer current."""
        self._forget(cache_key)
        if len(encoded) > min(_LARGEST, self._budget) or not validator.is_current():
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


def parse_request(message: bytes, *, modern: bool) -> tuple[str | int, Question] | None:
    """Return the id and question of a request, or None if the cache cannot answer it.

    `modern` tells whether the client uses protocol 2026-07-28, or an earlier one after `initialize`.
    """
    if len(message) > _MAX_MESSAGE_BYTES + MAX_TRACE_BYTES:
        return None
    try:
        request: object = orjson.loads(message)
    except orjson.JSONDecodeError:
        return None
    if not _is_object(request) or not _is_request(request):
        return None
    params = request.get("params", _NO_PARAMS)
    if not _is_object(params) or len(request) != (3 if params is _NO_PARAMS else 4):
        return None
    meta = params.get("_meta", _NO_PARAMS)
    if not _is_plain_envelope(meta, modern=modern) or _rest_length(message, meta) > _MAX_MESSAGE_BYTES:
        return None
    return _parse_params(request, params, others=meta is not _NO_PARAMS, modern=modern)


def _parse_params(
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


def _rest_length(message: bytes, meta: dict[str, Any]) -> int:
    """Return at least the size of a message without its trace context, in bytes."""
    if len(message) <= _MAX_MESSAGE_BYTES:
        return len(message)
    return len(message) - sum(len(meta.get(key, "")) for key in TRACE_KEYS)


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_plain_envelope(meta: object, *, modern: bool) -> TypeGuard[dict[str, Any]]:
    """Return whether `_meta` has the members that its version requires, and no unknown or bad ones."""
    if not _is_object(meta):
        return False
    if modern:
        if _CAPABILITIES not in meta or _VERSION not in meta:
            return False
    elif not meta.keys() <= _LEGACY_META:
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
    **dict.fromkeys(TRACE_KEYS, _is_text),
}
_LEGACY_META = frozenset({"progressToken", *TRACE_KEYS})
"""The members of `_meta` in requests of earlier protocol versions."""
_NO_PARAMS: dict[str, Any] = {}
"""Stands for an object that a request does not have. Never modify it."""
