"""Serve features with their skill URIs under another scheme, in requests and results.

`server/notifications.py` translates the URIs of subscriptions.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import cast

from skillwire.core.json_text import json_bytes
from skillwire.core.names import SCHEME
from skillwire.core.record import Json
from skillwire.errors import NotServedError, SkillwireError
from skillwire.features.base import Answer, Call, Feature, ListKind, Method
from skillwire.features.prompts import BY_NAME
from skillwire.features.resources import ProblemsDocument
from skillwire.features.tools import LOAD_SKILL, LOAD_SKILL_ALIAS
from skillwire.library.change import Change
from skillwire.protocol.drafts import INDEX_URI
from skillwire.protocol.messages import (
    COMPLETE,
    PROMPTS_GET,
    RESOURCES_META,
    RESOURCES_READ,
    SKILL_META,
    TOOLS_CALL,
    TOOLS_LIST,
    URI_META,
)
from skillwire.protocol.uri_base import UriBase
from skillwire.sources.base import Validator

_URI_KEYS = frozenset({"uri", "uriTemplate", SKILL_META, RESOURCES_META, URI_META})
"""Members of results whose value is a URI or a list of URIs."""
_INDEX_KEYS = frozenset({"url"})
"""Members whose value is a URI in the index of early drafts."""
_VERBATIM = frozenset({"frontmatter", "inputSchema", "outputSchema"})
"""Members whose value is never changed."""
_NAMES = frozenset({"name", "skill", "path", "uri"})
"""Arguments of tools that may be skill URIs."""
_PROMPT_NAMES = {BY_NAME: frozenset({"name"})}
"""Arguments of each prompt that may be skill URIs. All others are a person's text, left unchanged."""
_LOCATION = "<location>"
"""The tag before each URI in the list of skills for models. All other text in the list is escaped."""


class OtherScheme(Feature):
    """Serves another feature with its skill URIs under the scheme of `uri_base`.

    Bytes of files, digests and frontmatter are not changed.
    """

    def __init__(self, inside: Feature, uri_base: UriBase) -> None:
        self.inside = inside
        self._base = uri_base
        self.name = inside.name
        self._methods = {name: self._translated(name, method) for name, method in inside.methods().items()}

    @property
    def uri_base(self) -> UriBase:
        return self._base

    def methods(self) -> Mapping[str, Method]:
        return self._methods

    def validator(self, method: str, call: Call) -> Validator | None:
        inner = self._inner_call(method, call)
        return None if inner is None else self.inside.validator(method, inner)

    def answer_now(self, method: str, call: Call) -> Answer | None:
        inner = self._inner_call(method, call)
        answer = None if inner is None else self.inside.answer_now(method, inner)
        if inner is None or answer is None:
            return None
        return self._outer_answer(method, call, inner, answer)

    def instructions(self) -> str:
        return self._in_list(self.inside.instructions())

    def extensions(self) -> Mapping[str, Mapping[str, Json]]:
        return self.inside.extensions()

    def lists(self) -> Collection[ListKind]:
        return self.inside.lists()

    def lists_changed(self, change: Change) -> Iterable[ListKind]:
        return self.inside.lists_changed(change)

    def claims(self, method: str, call: Call) -> bool:
        inner = self._inner_call(method, call)
        return inner is not None and self.inside.claims(method, inner)

    def serves(self, uri: str) -> bool:
        inner = self._base.to_inner(uri)
        return inner is not None and self.inside.serves(inner)

    def schemes(self) -> Collection[str]:
        known = set(self.inside.schemes())
        return known | {self._base.scheme} if SCHEME.removesuffix("://") in known else known

    def updated_uris(self, change: Change) -> Collection[str]:
        return {self._base.to_outer(uri) for uri in self.inside.updated_uris(change)}

    def _translated(self, name: str, method: Method) -> Method:
        async def translated(call: Call) -> Answer:
            inner = self._inner_call(name, call)
            if inner is None:
                uri, hint = call.text("uri"), f"skill URIs of this server begin with `{self._base.prefix}`"
                raise NotServedError(uri, hint=hint if uri.startswith(SCHEME) else "")
            try:
                answer = await method(inner)
            except SkillwireError as error:
                self._translate_error(error)
                raise
            return self._outer_answer(name, call, inner, answer)

        return translated

    def _outer_answer(self, method: str, call: Call, inner: Call, answer: Answer) -> Answer:
        """Return the answer to the call `inner` of `inside` as the answer to `call`."""
        result = self._outer_result(method, inner, answer.result)
        if _typed(inner) != _typed(call):
            result = self._completed(result)
        return replace(answer, result=result)

    def _inner_call(self, method: str, call: Call) -> Call | None:
        """Return the call with URIs as `inside` uses them; None if its `uri` names nothing on this server."""
        params = call.params
        if isinstance(uri := params.get("uri"), str):
            inner = self._base.to_inner(uri)
            return None if inner is None else replace(call, params={**params, "uri": inner})
        if method in {TOOLS_CALL, PROMPTS_GET} and isinstance(given := params.get("arguments"), Mapping):
            arguments = cast("Mapping[str, object]", given)
            names = (
                _NAMES if method == TOOLS_CALL else _PROMPT_NAMES.get(str(params.get("name")), frozenset())
            )
            named = {key: self._inner_name(arguments[key]) for key in names & arguments.keys()}
            return replace(call, params={**params, "arguments": {**arguments, **named}})
        if method == COMPLETE and isinstance(given := params.get("ref"), Mapping):
            reference = cast("Mapping[str, object]", given)
            if isinstance(uri := reference.get("uri"), str):
                known = {**reference, "uri": self._base.to_inner(uri) or ""}
                return replace(call, params={**params, "ref": known})
            return self._inner_completion(call, reference)
        return call

    def _inner_completion(self, call: Call, reference: Mapping[str, object]) -> Call:
        """Return a completion of an argument with the typed URI, or its start, as `inside` uses it."""
        argument, typed = call.params.get("argument"), _typed(call)
        if not isinstance(argument, Mapping) or typed is None:
            return call
        given = cast("Mapping[str, object]", argument)
        if given.get("name") not in _PROMPT_NAMES.get(str(reference.get("name")), frozenset()):
            return call
        is_start = typed.startswith(f"{self._base.scheme}://") and self._base.prefix.startswith(typed)
        inner = SCHEME if is_start else self._inner_name(typed)
        return replace(call, params={**call.params, "argument": {**given, "value": inner}})

    def _inner_name(self, value: object) -> object:
        """Return a name as `inside` uses it. Accepts `skill://` URIs, which models repeat from texts."""
        if not isinstance(value, str):
            return value
        inner = self._base.to_inner(value)
        return value if inner is None else inner

    def _translate_error(self, error: SkillwireError) -> None:
        """Change the URIs in an error to those that the client knows."""
        error.args = tuple(self._base.in_text(each) if isinstance(each, str) else each for each in error.args)
        if isinstance(error, NotServedError):
            error.uri = self._base.to_outer(error.uri)

    def _outer_result(self, method: str, call: Call, result: dict[str, Json]) -> dict[str, Json]:
        outer = self._outer_object(result, _URI_KEYS)
        if method == TOOLS_CALL:
            return self._tool_result(call, result, outer)
        if method == TOOLS_LIST:
            return _with_texts(outer, "tools", "description", self._in_list)
        if method == RESOURCES_READ and call.params.get("uri") == INDEX_URI:
            return _with_texts(outer, "contents", "text", self._in_index)
        if method == RESOURCES_READ and call.params.get("uri") == ProblemsDocument.uri:
            return _with_texts(outer, "contents", "text", self._base.in_text)
        return outer

    def _completed(self, result: dict[str, Json]) -> dict[str, Json]:
        """Return completions of a URI that begin like the URI that the person typed."""
        match result:
            case {"completion": {"values": list(values), **rest}}:
                outer: list[Json] = [
                    self._base.to_outer(each) if isinstance(each, str) else each for each in values
                ]
                return {**result, "completion": {**rest, "values": outer}}
            case _:
                return result

    def _tool_result(self, call: Call, result: dict[str, Json], outer: dict[str, Json]) -> dict[str, Json]:
        """Translate the texts of a tool result that Skillwire wrote. The text of a file is never changed."""
        if result.get("isError") is True:
            return _with_texts(outer, "content", "text", self._base.in_text)
        if "structuredContent" in result:  # the text repeats URIs of the structured content
            known = sorted(_uris(result["structuredContent"]), key=len, reverse=True)
            pattern = re.compile("|".join(map(re.escape, known)) or r"(?!)")
            return _with_texts(
                outer,
                "content",
                "text",
                lambda text: pattern.sub(lambda found: self._base.to_outer(found[0]), text),
            )
        if call.params.get("name") in {LOAD_SKILL, LOAD_SKILL_ALIAS} and _asks_for_list(call):
            return _with_texts(outer, "content", "text", self._in_list)
        return outer

    def _outer_object(self, value: Mapping[str, Json], keys: Collection[str]) -> dict[str, Json]:
        """Return an object with the URIs that clients see, in the members `keys` at any depth."""
        return {
            name: each if name in _VERBATIM else self._outer(each, keys, name) for name, each in value.items()
        }

    def _outer(self, value: Json, keys: Collection[str], key: str) -> Json:
        match value:
            case str():
                return self._base.to_outer(value) if key in keys else value
            case list():
                return [self._outer(each, keys, key) for each in value]
            case dict():
                return self._outer_object(value, keys)
            case _:
                return value

    def _in_list(self, text: str) -> str:
        return text.replace(f"{_LOCATION}{SCHEME}", f"{_LOCATION}{self._base.prefix}")

    def _in_index(self, text: str) -> str:
        return json_bytes(self._outer_object(json.loads(text), _INDEX_KEYS), indented=True).decode()


def _with_texts(
    result: dict[str, Json], member: str, key: str, translate: Callable[[str], str]
) -> dict[str, Json]:
    """Return a result in which the text `key` of each item of the list `member` is translated."""
    items = result.get(member)
    translated: list[Json] = [
        {**item, key: translate(text)}
        if isinstance(item, dict) and isinstance(text := item.get(key), str)
        else item
        for item in (items if isinstance(items, list) else [])
    ]
    return {**result, member: translated}


def _typed(call: Call) -> str | None:
    """Return the text to complete in a call of `completion/complete`; None if there is none."""
    match call.params.get("argument"):
        case {"value": str(typed)}:
            return typed
        case _:
            return None


def _asks_for_list(call: Call) -> bool:
    """Return whether a call of `load-skill` asks for the list of skills."""
    arguments = call.part("arguments").params
    return arguments.get("name", arguments.get(LOAD_SKILL_ALIAS)) == ""


def _uris(value: Json) -> set[str]:
    """Return the skill URIs in members of `_URI_KEYS` at any depth, except inside members of `_VERBATIM`."""
    if isinstance(value, list):
        return {uri for each in value for uri in _uris(each)}
    if not isinstance(value, dict):
        return set()
    found = {each for name, each in value.items() if name in _URI_KEYS and isinstance(each, str)}
    return {uri for uri in found if uri.startswith(SCHEME)}.union(
        *(_uris(each) for name, each in value.items() if name not in _VERBATIM)
    )
