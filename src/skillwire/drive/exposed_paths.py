"""The paths that a program exposes, their resolvers, and the answers to calls."""

import inspect
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

import anyio
import orjson

from skillwire.core.mime import MARKDOWN
from skillwire.core.record import Json
from skillwire.drive.fields import MAX_DEPTH, TOO_DEEP, JsonFields, ShapeError, too_deep
from skillwire.drive.messages import CallClient, CallError, ErrorCode
from skillwire.drive.paths import SKILL_LEAVES, LivePath, best_match
from skillwire.drive.registration import GET, Auth, Descriptor, PathType, first_paragraph, without_none
from skillwire.errors import InvalidValueError, NotFoundError
from skillwire.frontmatter.split import UnreadableError, split
from skillwire.safe_text import quoted

_log = logging.getLogger(__name__)
MAX_RESULT = 1024 * 1000
"""Maximum size of a result in bytes.

Together with the message around it, the result stays within the servers' limit.
"""

_WRAPPER_DEPTH = 2
"""Nesting levels of the message around a result."""
_PATH_WRAPPER_DEPTH = 3
"""Nesting levels around a descriptor: the message, the client and the list of paths."""
Resolver: TypeAlias = Callable[..., "Json | Awaitable[Json]"]
"""A function that answers calls to a path.

It takes a `LiveRequest` and a `LiveContext`, only the request, or nothing. It returns the result or an
awaitable. The result is Markdown for a skill, and any JSON value for a prompt or an endpoint, where `None`
means success without data. If there is nothing for the request, it raises `NotFoundError`.
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The optional properties of an exposed path.

    A path exposed with a text gets the text's first paragraph as its default description. A path that ends in
    neither `skill.md` nor `prompt.md` is an endpoint, and needs a method.
    """

    description: str | None = None
    content_type: str | None = None
    """The content type of a skill (by default, Markdown) or endpoint. Prompts have no content type."""
    method: str | None = None
    """The method of an endpoint: `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.

    Skills and prompts are always read with `GET`.
    """
    input_schema: Mapping[str, Json] | None = None
    """The JSON Schema for the input of a prompt or endpoint.

    Callers see the schema, but inputs are not validated against it.
    """
    output_schema: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """A request to an exposed path: path parameters, query, headers and body."""

    params: Mapping[str, str] = field(default_factory=dict[str, str])
    """The values of the path parameters."""
    queries: Mapping[str, Json] = field(default_factory=dict[str, Json])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Json = None


@dataclass(frozen=True, slots=True)
class LiveContext:
    """Metadata of a request to an exposed path: ids, type, method, path, and the caller's identity claim."""

    request_id: str
    client_id: str
    type: PathType
    method: str
    path: str
    auth: Auth | None = None


@dataclass(frozen=True, slots=True)
class ExposedPath:
    """One path, its descriptor, and its resolver."""

    path: LivePath
    type: PathType
    method: str
    descriptor: Mapping[str, Json]
    """The descriptor that is sent to the server."""
    resolver: Resolver
    parameter_count: int
    """Number of arguments to pass to the resolver: 0, 1 or 2."""

    async def answer(self, request: LiveRequest, context: LiveContext) -> Json:
        result = self.resolver(*(request, context)[: self.parameter_count])
        return await result if inspect.isawaitable(result) else result


class ExposedPaths:
    """The paths that a program currently exposes, in the order in which it exposed them."""

    def __init__(self, *, error_messages: bool = False) -> None:
        """Expose no path yet. `error_messages` sends the messages of exceptions to readers."""
        self._exposed: dict[tuple[str, str], ExposedPath] = {}
        """The exposed paths by method and path."""
        self._texts: set[tuple[str, str]] = set()
        """The exposed paths with a text in place of a resolver."""
        self._warned: set[tuple[str, str]] = set()
        """The paths whose resolver returned something that is not text, which is logged once."""
        self._error_messages = error_messages
        self.changed = anyio.Event()
        """An event that every change sets. The connection replaces the event before it reports the change."""

    def put(self, path: str, options: Options, resolver: Resolver) -> None:
        """Expose a path with a resolver. Replaces a path that is already exposed with the same method.

        Raises `InvalidValueError` if the path, an option or the resolver is invalid.
        """
        parsed = LivePath.parse(path)
        for text in (options.description or "", options.content_type or ""):
            _require_sendable("description", text)
        kind = _type(parsed, options)
        descriptor = _descriptor(parsed, kind, options)
        method = options.method or GET
        parameter_count = _count_parameters(path, resolver)
        if kind is PathType.SKILL and parsed.name_fault:
            message = "the skill at %s is not listed to MCP clients: %s; only HTTP and `callPath` read it"
            _log.warning(message, quoted(path), parsed.name_fault)
        key = method, path
        if key in self._exposed and key not in self._texts:
            message = "%s was already exposed; the earlier function is replaced; if you want that, %s"
            _log.warning(message, quoted(path), "call `unexpose` first")
        self._forget(key)
        self._exposed[key] = ExposedPath(parsed, kind, method, descriptor, resolver, parameter_count)
        self.changed.set()

    def put_text(self, path: str, text: str, options: Options) -> None:
        """Expose the path of a skill or prompt with a text. A prompt returns the text as a user message.

        The default description is the text's first paragraph. A text with frontmatter has no default
        description; for a skill, the server reads the description from the frontmatter. Raises
        `InvalidValueError` if the path is the path of an endpoint, or an option is invalid.
        """
        _require_sendable("text", text)
        kind = _type(LivePath.parse(path), options)
        if kind is PathType.ENDPOINT:
            raise InvalidValueError(
                "path", path, "the path of a skill or prompt; an endpoint needs a resolver"
            )
        description = options.description or (
            None if _has_frontmatter(text) else first_paragraph(text) or None
        )
        answer: Json = text if kind is PathType.SKILL else {"messages": [{"role": "user", "content": text}]}
        self.put(path, replace(options, description=description), lambda: answer)
        self._texts.add((GET, path))

    def remove(self, path: str, method: str | None = None) -> None:
        """Stop exposing a path with a method, which is `GET` by default.

        Raises `InvalidValueError` if the path is not exposed with this method.
        """
        key = method or GET, path
        if self._exposed.pop(key, None) is None:
            others = [of for of, known in self._exposed if known == path]
            hint = f" with this method; it has {', '.join(others)}" if others else ""
            raise InvalidValueError("path", path, f"exposed here{hint}")
        self._forget(key)
        self.changed.set()

    def _forget(self, key: tuple[str, str]) -> None:
        self._texts.discard(key)
        self._warned.discard(key)

    def descriptors(self) -> list[Json]:
        return [dict(each.descriptor) for each in self._exposed.values()]

    async def result(self, call: CallClient) -> dict[str, Json]:
        """Call the resolver, and return the message that answers the call.

        An exception is logged with its traceback. The reader gets its type, and its message only if the
        program allows it. The message of a `NotFoundError` is for readers.
        """
        try:
            answer: dict[str, Json] = {"ok": True, **without_none(data=await self._answer(call))}
        except NotFoundError as error:
            answer = _failure_result(ErrorCode.NOT_FOUND, str(error) or f"nothing is at {quoted(call.path)}")
        except Exception as error:  # noqa: BLE001 - the resolver is user code, so a failure is reported to the caller
            _log.exception("the resolver of %s failed", quoted(call.path))  # readers do not see the traceback
            name, text = type(error).__name__, str(error) if self._error_messages else ""
            answer = _failure_result(ErrorCode.HANDLER_ERROR, f"{name}: {text}" if text else name)
        result: dict[str, Json] = {"type": "callClientResult", "requestId": call.request_id}
        return {**result, **_sendable(answer)}

    async def _answer(self, call: CallClient) -> Json:
        exposed = self._find(call)
        request = LiveRequest(call.params, call.query or {}, call.headers or {}, call.body)
        context = LiveContext(
            call.request_id, call.client_id, exposed.type, call.method, call.path, call.auth
        )
        result = await exposed.answer(request, context)
        key = exposed.method, exposed.path.text
        if exposed.type is PathType.SKILL and not isinstance(result, str) and key not in self._warned:
            self._warned.add(key)
            message = "the resolver of the skill %s returned %s; return Markdown, or raise %s"
            error = "`skillwire.errors.NotFoundError`"
            _log.warning(message, quoted(exposed.path.text), type(result).__name__, error)
        return result

    def _find(self, call: CallClient) -> ExposedPath:
        paths = (each.path for each in self._exposed.values() if each.method == call.method)
        try:
            found = best_match(paths, LivePath.parse(call.path))
        except InvalidValueError:
            found = None
        if found is None:
            raise NotFoundError(f"nothing is exposed at {quoted(call.path)} for {quoted(call.method)}")
        return self._exposed[call.method, found[0].text]


def _type(path: LivePath, options: Options) -> PathType:
    """Return the type of a path.

    Raises `InvalidValueError` if an endpoint has no method, or if an option does not apply to the type.
    """
    if path.leaf is None:
        if options.method is None:
            rule = "the path of a skill or prompt; end it in `/skill.md`, or set the method of an endpoint"
            raise InvalidValueError("path", path.text, rule)
        return PathType.ENDPOINT
    kind = PathType.SKILL if path.leaf in SKILL_LEAVES else PathType.PROMPT
    if options.method not in (None, GET):
        raise InvalidValueError("path", path.text, f"the path of an endpoint; a {kind} is read with `GET`")
    schemas = options.input_schema is not None or options.output_schema is not None
    if kind is PathType.SKILL and schemas:
        raise InvalidValueError("path", path.text, "the path of a prompt or endpoint; a skill has no schema")
    if kind is PathType.PROMPT and options.content_type is not None:
        raise InvalidValueError("path", path.text, "the path of a skill; a prompt has no content type")
    return kind


def _descriptor(path: LivePath, kind: PathType, options: Options) -> Mapping[str, Json]:
    """Return the descriptor of a path. Raises `InvalidValueError` if servers would reject it."""
    default = MARKDOWN if kind is PathType.SKILL else None
    schemas = {"inputSchema": options.input_schema, "outputSchema": options.output_schema}
    descriptor: dict[str, Json] = {
        "type": kind.value,
        "path": path.text,
        **without_none(
            method=options.method if kind is PathType.ENDPOINT else None,
            description=options.description,
            contentType=options.content_type or default,
            **{name: None if schema is None else dict(schema) for name, schema in schemas.items()},
        ),
    }
    if too_deep(descriptor, MAX_DEPTH - _PATH_WRAPPER_DEPTH):
        raise InvalidValueError("path", path.text, f"accepted by servers: its schema is {TOO_DEEP}")
    try:
        Descriptor.read(JsonFields.of(descriptor))
    except ShapeError as error:
        raise InvalidValueError("path", path.text, f"accepted by servers: {error}") from error
    return orjson.loads(orjson.dumps(descriptor))  # a copy, independent of the caller's objects


def _count_parameters(path: str, resolver: Any) -> int:
    """Return how many arguments to pass to a resolver: 0, 1 (the request) or 2 (the request and the context).

    Raises `InvalidValueError` if it requires more arguments, or is not a function.
    """
    kinds = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    try:
        parameters = inspect.signature(resolver).parameters.values()
    except (TypeError, ValueError) as error:
        raise InvalidValueError("resolver", path, "a function") from error
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return 2
    positional = [each for each in parameters if each.kind in kinds]
    if sum(each.default is inspect.Parameter.empty for each in positional) > 2:
        raise InvalidValueError("resolver of", path, "a function of at most the request and the context")
    return min(len(positional), 2)


def _failure_result(code: ErrorCode, message: str) -> dict[str, Json]:
    return {"ok": False, "error": CallError(code, message).to_json()}


def _has_frontmatter(text: str) -> bool:
    try:
        split(text.encode())
    except UnreadableError:
        return False
    return True


def _require_sendable(what: str, text: str) -> None:
    """Raise `InvalidValueError` if a text contains a lone surrogate, which cannot be sent."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidValueError(what, ascii(text), "text without lone surrogates") from error


def _sendable(answer: dict[str, Json]) -> dict[str, Json]:
    """Return `answer`, or an error result if it cannot be sent."""
    try:
        content = orjson.dumps(answer)
    except TypeError as error:
        return _failure_result(
            ErrorCode.HANDLER_ERROR, f"the resolver returned something that is not JSON: {error}"
        )
    size = len(content)
    if too_deep(answer, MAX_DEPTH - _WRAPPER_DEPTH):
        return _failure_result(ErrorCode.HANDLER_ERROR, f"the answer is {TOO_DEEP}")
    if b"null" in content and _has_nonfinite_number(answer):
        return _failure_result(
            ErrorCode.HANDLER_ERROR, "the resolver returned NaN or infinity, which is not JSON"
        )
    if size > MAX_RESULT:
        return _failure_result(
            ErrorCode.HANDLER_ERROR, f"the answer has {size:,} bytes; the limit is {MAX_RESULT:,}"
        )
    return answer


def _has_nonfinite_number(value: object) -> bool:
    """Return whether `value` contains NaN or infinity, which would be sent as null."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_nonfinite_number, cast("dict[str, object]", value).values()))
    return isinstance(value, (list, tuple)) and any(map(_has_nonfinite_number, cast("list[object]", value)))
