"""The response cache: responses to frequent requests, stored as bytes and sent without the SDK.

The cache calls the same features for `skills/list`, `skills/get` and `resources/read` as the SDK. A stored
response is used only while its validator is current, so file bytes always match the listed digest (S19). The
SDK sends all error responses, and answers every request that does not have exactly a known shape.
"""

from collections.abc import Sequence
from typing import cast

import orjson

from skillwire.core.record import Json
from skillwire.errors import SkillwireError
from skillwire.features.base import Answer, Feature
from skillwire.protocol.messages import Freshness
from skillwire.protocol.translate import complete
from skillwire.server.cached_requests import CACHED_METHODS, MCP_META_PREFIX, Question
from skillwire.sources.base import Validator

BEFORE_ID, BEFORE_RESULT = b'{"jsonrpc":"2.0","id":', b',"result":'
"""The bytes of a response before its id, and between its id and its result."""

BUDGET = 16 * 1024 * 1024
"""Maximum total size of cached responses, in bytes."""
_LARGEST = BUDGET // 4
"""Maximum size of one cached response in bytes. A larger response would evict too many others."""

_MAX_SEEN_KEYS = 8192
"""Maximum number of questions remembered as requested before."""


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
            method: each for each in features for method in each.methods() if method in CACHED_METHODS
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
        try:
            validator = feature.validator(cache_key.method, call) if is_repeated else None
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
