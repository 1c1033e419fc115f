"""Shapes of answers, for type checkers of those who ask without a transport."""

from typing import Literal, NotRequired, TypedDict

from skillwire.model.entry import Json


class ListedResource(TypedDict):
    """A resource in `resources/list`."""

    uri: str
    name: str
    mimeType: str
    description: NotRequired[str]
    size: NotRequired[int]
    _meta: NotRequired[dict[str, Json]]


class Contents(TypedDict):
    """A file in `resources/read`. One that is not text has no `text`, and is in `blob`, as base64."""

    uri: str
    mimeType: str
    text: str
    blob: NotRequired[str]
    _meta: NotRequired[dict[str, Json]]


class MessageContent(TypedDict):
    """What a message says: text, unless it is a `resource`."""

    type: Literal["text", "resource"]
    text: str
    resource: NotRequired[Contents]
    annotations: NotRequired[dict[str, Json]]


class PromptMessage(TypedDict):
    """A message of `prompts/get`."""

    role: Literal["user", "assistant"]
    content: MessageContent
