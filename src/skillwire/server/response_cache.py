"""The cache: answers to the three requests that hosts repeat, kept as bytes and given out before the SDK.

`skills/list`, `skills/get` and `resources/read` are answered by the same features that the SDK asks. What
they answered is kept for as long as its seal holds, so that bytes and entry agree at every moment (S19).
Whatever is not exactly a request of a kind known here is left to the SDK, which says what there is to say.
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
"""What stands before the id of an answer, and between that and its result."""

BUDGET = 16 * 1024 * 1024
"""Bytes of answers that are kept."""
_LARGEST = BUDGET // 4
"""A larger answer would push too many others out."""

MAX_MESSAGE_LENGTH = MAX_PARAMETER_BYTES
"""Bytes of a message that is looked at here. No parameter in it can be too long."""

_MAX_SEEN_KEYS = 8192
"""Questions that are known to have been asked once."""

_ARGUMENT = {SKILLS_LIST: "cursor", SKILLS_GET: "uri", RESOURCES_READ: "uri"}
"""The one parameter of each request that is known here. Only a list can do without."""
CACHED_METHODS = tuple(_ARGUMENT)
"""The requests that are answered here."""
_VERSION, _CAPABILITIES = f"{MCP_META_PREFIX}protocolVersion", f"{MCP_META_PREFIX}clientCapabilities"
_CLIENT = frozenset({"name", "version", "title"})


class Question(NamedTuple):
    """A request that can be answered here, without its id."""

    method: str
    argument: str | None
    modern: bool

    def call(self) -> Call:
        return Call({} if self.argument is None else {_ARGUMENT[self.method]: self.argument})


class ResponseCache:
    """Remembers answers that were asked for more than once, within a budget; the oldest go first.

    Whoever lists everything once, or reads every file once, leaves nothing behind and pushes nothing out.
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
        """`name` and `version` are those of the server, which every modern answer repeats."""
        self._features = {
            method: each for each in features for method in each.methods() if method in _ARGUMENT
        }
        self._freshness = freshness
        self._stamp: dict[str, Json] = {f"{MCP_META_PREFIX}serverInfo": {"name": name, "version": version}}
        self._entries: dict[Question, tuple[Validator, bytes]] = {}
        self._room = self._budget = budget
        self._seen_keys: set[int] = set()
        """The hashes of questions that were asked. Two that have the same do no harm."""

    @property
    def private(self) -> bool:
        """Whether its answers are marked as private to one client."""
        return self._freshness.private

    @property
    def cached_bytes(self) -> int:
        """How many bytes of answers are kept."""
        return self._budget - self._room

    def get_cached(self, cache_key: Question) -> bytes | None:
        """Return the result that is kept for a question, if it would still be the same."""
        known = self._entries.get(cache_key)
        if known is None:
            return None
        if known[0].is_current():
            return known[1]
        self._forget(cache_key)
        return None

    async def prepare(self, cache_key: Question) -> bytes | None:
        """Return the result for a question, made anew, and keep it; None if the SDK should answer."""
        call = cache_key.call()
        feature = self._features.get(cache_key.method)
        if feature is None or (validator := feature.validator(cache_key.method, call)) is None:
            return None
        try:
            answer = await feature.methods()[cache_key.method](call)
        except SkillwireError:
            return None
        if answer.private:  # a question does not say who asks
            return None
        result = answer.result
        if cache_key.modern:
            result = complete(result, answer.freshness(self._freshness))
            result["_meta"] = {**cast("dict[str, Json]", result.get("_meta") or {}), **self._stamp}
        try:
            made = orjson.dumps(result)
        except orjson.JSONEncodeError:  # a skill may say what only slower writers can
            return None
        if self._is_repeated(cache_key) and validator.is_current():
            self._keep(cache_key, validator, made)
        return made

    def _is_repeated(self, cache_key: Question) -> bool:
        """Whether a question was asked before, not too long ago."""
        if (hashed := hash(cache_key)) in self._seen_keys:
            return True
        if len(self._seen_keys) >= _MAX_SEEN_KEYS:
            self._seen_keys.clear()
        self._seen_keys.add(hashed)
        return False

    def _keep(self, cache_key: Question, validator: Validator, made: bytes) -> None:
        self._forget(cache_key)
        if len(made) > min(_LARGEST, self._budget):
            return
        self._room -= len(made)
        while self._room < 0:
            self._forget(next(iter(self._entries)))
        self._entries[cache_key] = validator, made

    def _forget(self, cache_key: Question) -> None:
        known = self._entries.pop(cache_key, None)
        if known is not None:
            self._room += len(known[1])


def wrap_result(request_id: bytes, result: bytes, end: bytes = b"") -> bytes:
    """Return the whole answer to the request with this id, which is JSON already, and `end`."""
    return b"".join((BEFORE_ID, request_id, BEFORE_RESULT, result, b"}", end))


def parse_modern_request(message: object) -> tuple[str | int, Question] | None:
    """Return the id and the question of a request on protocol 2026-07-28; None if it is not known here."""
    if not _is_object(message) or len(message) != 4 or not _is_request(message):
        return None
    params = message.get("params")
    if not _is_object(params) or not _is_plain_envelope(params.get("_meta")):
        return None
    return _parse_request(message, params, others=1, modern=True)


def parse_legacy_request(message: object) -> tuple[str | int, Question] | None:
    """Return the same of a request on an earlier version, once the handshake is done."""
    if not _is_object(message) or not _is_request(message):
        return None
    params = message.get("params", {})
    if not _is_object(params) or len(message) != (4 if "params" in message else 3) or "_meta" in params:
        return None
    return _parse_request(message, params, others=0, modern=False)


def _parse_request(
    message: dict[str, Any], params: dict[str, Any], *, others: int, modern: bool
) -> tuple[str | int, Question] | None:
    """Return the question, if it has its one argument and nothing besides; `others` are known already."""
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
    """Whether `_meta` says no more than every client of protocol 2026-07-28 says, in its shape."""
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
