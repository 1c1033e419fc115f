"""What a program exposes: paths, and the functions that answer them."""

import inspect
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import anyio
import orjson

from skillwire.drive.depth import MAX_DEPTH, TOO_DEEP, too_deep
from skillwire.drive.describing import described
from skillwire.drive.messages import CallClient, CallError, ErrorCode
from skillwire.drive.paths import PROMPT_LEAVES, SKILL_LEAVES, LivePath, best_match
from skillwire.drive.registration import GET, Auth, PathType, without_none
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.errors import InvalidValueError
from skillwire.model.mime import MARKDOWN
from skillwire.skillmd.frontmatter import split
from skillwire.skillmd.unreadable import UnreadableError

MAX_RESULT = 1024 * 1000
"""Bytes of an answer: with what stands around it, as much as a server takes."""

_AROUND = 2
"""Levels that stand around an answer when it is sent."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is said of an exposed path. Without a description, one is made where the content is a text."""

    description: str | None = None
    content_type: str = MARKDOWN


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """What somebody asks."""

    params: Mapping[str, str] = field(default_factory=dict[str, str])
    """The values of the parameters of the path."""
    queries: Mapping[str, Json] = field(default_factory=dict[str, Json])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Json = None


@dataclass(frozen=True, slots=True)
class LiveContext:
    """How somebody asks."""

    request_id: str
    client_id: str
    type: PathType
    method: str
    path: str
    auth: Auth | None = None


Resolver: TypeAlias = Callable[..., "Json | Awaitable[Json]"]
"""Takes a `LiveRequest` and a `LiveContext`, or the first, or nothing; returns the Markdown, now or later."""


@dataclass(frozen=True, slots=True)
class Exposed:
    """One path, what is said of it, and who answers it."""

    path: LivePath
    type: PathType
    options: Options
    resolver: Resolver
    takes: int
    """How many arguments the resolver wants."""

    def descriptor(self) -> dict[str, Json]:
        is_skill = self.type is PathType.SKILL
        return {
            "type": self.type.value,
            "path": self.path.text,
            **without_none(
                description=self.options.description,
                contentType=self.options.content_type if is_skill else None,
            ),
        }

    async def answer(self, request: LiveRequest, context: LiveContext) -> Json:
        found = self.resolver(*(request, context)[: self.takes])
        return await found if inspect.isawaitable(found) else found


class Exposures:
    """The paths that a program answers now, in the order in which it exposed them."""

    def __init__(self) -> None:
        self._exposed: dict[str, Exposed] = {}
        self.changed = anyio.Event()
        """Set with every change; whoever has told of it puts another in its place."""

    def put(self, path: str, options: Options, resolver: Resolver) -> None:
        """Expose a path, or replace what was exposed there. Raises `InvalidValueError`."""
        parsed = LivePath.parse(path)
        for text in (options.description or "", options.content_type):
            _must_be_sendable("description", text)
        self._exposed[path] = Exposed(parsed, _type(parsed), options, resolver, _taken(path, resolver))
        self.changed.set()

    def put_text(self, path: str, text: str, options: Options) -> None:
        """Expose a text. Without a description, its first paragraph is one.

        One with frontmatter describes itself: the server, which has a parser for it, finds the words there.
        """
        _must_be_sendable("text", text)
        told = options.description or (None if _has_frontmatter(text) else described(text) or None)
        self.put(path, Options(told, options.content_type), lambda: text)

    def remove(self, path: str) -> None:
        """Expose it no more. Raises `InvalidValueError` if it is not exposed."""
        if self._exposed.pop(path, None) is None:
            raise InvalidValueError("path", path, "exposed here")
        self.changed.set()

    def descriptors(self) -> list[Json]:
        return [each.descriptor() for each in self._exposed.values()]

    async def result(self, call: CallClient) -> dict[str, Json]:
        """Return the message that answers a call."""
        try:
            answer: dict[str, Json] = {"ok": True, "data": await self._answer(call)}
        except _NotExposedError as error:
            answer = _failed(ErrorCode.NOT_FOUND, str(error))
        except Exception as error:  # noqa: BLE001 - the resolver is somebody's code: its failure is an answer
            answer = _failed(ErrorCode.HANDLER_ERROR, str(error) or type(error).__name__)
        result: dict[str, Json] = {"type": "callClientResult", "requestId": call.request_id}
        return {**result, **_sendable(answer)}

    async def _answer(self, call: CallClient) -> Json:
        exposed = self._find(call)
        request = LiveRequest(call.params, call.query or {}, call.headers or {}, call.body)
        context = LiveContext(
            call.request_id, call.client_id, exposed.type, call.method, call.path, call.auth
        )
        return await exposed.answer(request, context)

    def _find(self, call: CallClient) -> Exposed:
        try:
            found = best_match((each.path for each in self._exposed.values()), LivePath.parse(call.path))
        except InvalidValueError:
            found = None
        if found is None or call.method != GET:
            raise _NotExposedError(f"nothing is exposed at {quoted(call.path)} for {quoted(call.method)}")
        return self._exposed[found[0].text]


class _NotExposedError(Exception):
    pass


def _type(path: LivePath) -> PathType:
    if path.leaf in SKILL_LEAVES:
        return PathType.SKILL
    if path.leaf in PROMPT_LEAVES:
        return PathType.PROMPT
    raise InvalidValueError("path", path.text, "that of a skill or a prompt; end it in `/skill.md`")


def _taken(path: str, resolver: Any) -> int:
    """Return how many arguments a resolver wants: none, the request, or the context as well."""
    kinds = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    try:
        parameters = inspect.signature(resolver).parameters.values()
    except (TypeError, ValueError) as error:
        raise InvalidValueError("resolver", path, "a function") from error
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return 2
    positional = [each for each in parameters if each.kind in kinds]
    if sum(each.default is inspect.Parameter.empty for each in positional) > 2:
        raise InvalidValueError("resolver of", path, "a function of the request and the context at most")
    return min(len(positional), 2)


def _failed(code: ErrorCode, message: str) -> dict[str, Json]:
    return {"ok": False, "error": CallError(code, message).to_json()}


def _has_frontmatter(text: str) -> bool:
    try:
        split(text.encode())
    except UnreadableError:
        return False
    return True


def _must_be_sendable(what: str, text: str) -> None:
    """Refuse half of a surrogate pair, which no message can hold. Raises `InvalidValueError`."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidValueError(what, ascii(text), "text of whole characters") from error


def _sendable(answer: dict[str, Json]) -> dict[str, Json]:
    """Return `answer`, or why it cannot be sent."""
    try:
        content = orjson.dumps(answer)
    except TypeError as error:
        return _failed(ErrorCode.HANDLER_ERROR, f"the resolver returned what is no JSON: {error}")
    size = len(content)
    if too_deep(answer, MAX_DEPTH - _AROUND):
        return _failed(ErrorCode.HANDLER_ERROR, f"the answer is {TOO_DEEP}")
    if b"null" in content and _holds_no_number(answer):
        return _failed(ErrorCode.HANDLER_ERROR, "the resolver returned NaN or an infinity, which is no JSON")
    if size > MAX_RESULT:
        return _failed(ErrorCode.HANDLER_ERROR, f"the answer has {size:,} bytes; the limit is {MAX_RESULT:,}")
    return answer


def _holds_no_number(value: object) -> bool:
    """Whether a float in `value` is none that JSON knows: it would be sent as null."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_holds_no_number, cast("dict[str, object]", value).values()))
    return isinstance(value, (list, tuple)) and any(map(_holds_no_number, cast("list[object]", value)))
