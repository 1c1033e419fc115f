"""`ServeOptions`, and the features that these options enable. Does not import the SDK."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from skillwire.errors import InvalidValueError
from skillwire.features.addition import AddedFeatures, Addition, join_additions
from skillwire.features.base import Feature
from skillwire.features.catalog_text import DEFAULT_TOKENS, SEARCH_SKILLS, ListOptions
from skillwire.features.completion import CompletionFeature
from skillwire.features.content import Frame
from skillwire.features.directory import DirectoryFeature
from skillwire.features.drafts import DraftIndexDocument, SkillManifests
from skillwire.features.extension import ExtensionFeature
from skillwire.features.instructions import InstructionsFeature
from skillwire.features.prompt_messages import PromptContent, PromptMessages, PromptScope
from skillwire.features.prompts import AuthoredPromptsFeature, PromptsFeature
from skillwire.features.resources import (
    Document,
    ProblemsDocument,
    ResourcesFeature,
    UnlistedResources,
    catalog_problems,
)
from skillwire.features.tools import MAX_FILE_BYTES, SkillTools, Tool, ToolsFeature
from skillwire.features.visible_skills import VisibleSkills
from skillwire.features.whole_prompts import DEFAULT_PROMPT_TOKENS, WholePrompts
from skillwire.library.library import Library
from skillwire.protocol.uri_base import UriBase

if TYPE_CHECKING:
    from skillwire.authoring.skill import Skill
    from skillwire.features.archives import SkillArchives


NAME = "skillwire"
"""Default name of a server."""


class Channel(StrEnum):
    """Where models find the list of skills."""

    INSTRUCTIONS = "instructions"
    TOOL_DESCRIPTION = "tool-description"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options for serving skills to clients: tools, prompts, list of skills, drafts and limits."""

    channel: Channel = Channel.INSTRUCTIONS
    catalog_tokens: int = DEFAULT_TOKENS
    max_file_bytes: int = MAX_FILE_BYTES
    every_client: bool = True
    """Whether to serve tools, a prompt for each skill and the list of skills.

    Clients without the Skills extension need them. If False, only prompts of skills written in code remain.
    """
    skill_tools: SkillTools = SkillTools.ALWAYS
    """Which clients get the tools that load skills."""
    prompt_content: PromptContent = PromptContent.RESOURCE
    """Format of the skill in prompts. With a `frame`, it is always text."""
    prompt_scope: PromptScope = PromptScope.DOCUMENT
    """How much of a skill its prompt contains. Prompts with whole skills are always text."""
    prompt_tokens: int = DEFAULT_PROMPT_TOKENS
    """Maximum size of a prompt with a whole skill, in tokens. A larger skill's prompt is its `SKILL.md`."""
    drafts: bool = True
    """Whether to serve an index for hosts that use early drafts, and a manifest for each skill."""
    list_nonconforming: bool = False
    """Whether `skills/list` and the index include skills that make strict clients reject the whole list."""
    archives: bool = False
    """Whether every skill except live skills can also be read as an archive."""
    legacy_uris: bool = False
    """Whether skills can also be read at the URIs used before the extension."""
    scheme: str | None = None
    """The scheme of all skill URIs that clients see, such as `github`. The default is `skill`."""
    authority: str | None = None
    """What follows the scheme, before the path of the skill, such as `owner/repo`. Requires a `scheme`."""
    additions: Sequence[Addition] = ()
    """Features of product areas, such as `ContractOptions()` for the repository contract."""
    tools: Sequence[Tool] = ()
    """Further tools, listed after the tools that load skills. Ignored if `every_client` is False."""
    unlisted: Sequence[UnlistedResources] = ()
    """Further resources that can be read but are not listed."""
    pinned: Sequence[str] = ()
    """Patterns for the names or paths of skills that come first in the list for models."""
    frame: Frame | None = None
    """A function that marks skill text from other servers with its origin, wherever a model reads it."""

    def __post_init__(self) -> None:
        """Convert texts to enum members, and check `scheme` and `authority`. Raises `InvalidValueError`."""
        for option, kind in _ENUMS.items():
            object.__setattr__(self, option, _member(option, kind, getattr(self, option)))
        UriBase.of(self.scheme, self.authority)

    @property
    def uri_base(self) -> UriBase | None:
        """What replaces `skill://` in all skill URIs that clients see; None if `scheme` is None."""
        return UriBase.of(self.scheme, self.authority)


def chosen_options(options: ServeOptions | None, *, every_client: bool | None) -> ServeOptions:
    """Return `options`, or the defaults if it is None. `every_client` takes precedence unless it is None."""
    chosen = options or ServeOptions()
    return chosen if every_client is None else replace(chosen, every_client=every_client)


_ENUMS: Mapping[str, type[StrEnum]] = {
    "channel": Channel,
    "skill_tools": SkillTools,
    "prompt_content": PromptContent,
    "prompt_scope": PromptScope,
}
"""The options whose type is an enum."""


def _member(option: str, kind: type[StrEnum], value: object) -> StrEnum:
    """Return the enum member for `value`. Raises `InvalidValueError`."""
    try:
        return kind(value)
    except ValueError:
        *others, last = (f"`{each}`" for each in kind)
        raise InvalidValueError(option, str(value), f"{', '.join(others)} or {last}") from None


def all_features(
    library: Library, options: ServeOptions, prompts: "Mapping[str, Skill] | None" = None
) -> list[Feature]:
    """Return the features that serve `library`. `prompts` maps prompt names to skills written in code."""
    features = _all_features(library, options, prompts or {})
    if (uri_base := options.uri_base) is None:
        return features
    from skillwire.features.scheme import OtherScheme  # noqa: PLC0415 - few servers need it

    return [OtherScheme(feature, uri_base) for feature in features]


def _all_features(library: Library, options: ServeOptions, prompts: "Mapping[str, Skill]") -> list[Feature]:
    added = join_additions([each.add_to(library) for each in options.additions])
    features: list[Feature] = [
        ExtensionFeature(
            library,
            list_nonconforming=options.list_nonconforming,
            with_search=any(tool.name == SEARCH_SKILLS for tool in added.tools),
        ),
        DirectoryFeature(library),
        _resources(library, options, added),
    ]
    if options.every_client:
        return [*features, *_for_every_client(library, options, prompts, added)]
    if prompts:
        features.append(AuthoredPromptsFeature(prompts))
    return [*features, CompletionFeature(library)]


def _for_every_client(
    library: Library, options: ServeOptions, prompts: "Mapping[str, Skill]", added: AddedFeatures
) -> Iterator[Feature]:
    """Yield the features that `every_client` adds, for clients without the Skills extension."""
    visible = VisibleSkills.of(library)
    in_tools = options.channel is Channel.TOOL_DESCRIPTION
    more = [*options.tools, *added.tools]
    with_tools = options.skill_tools is not SkillTools.NEVER
    list_options = ListOptions(
        options.catalog_tokens,
        foreign=options.frame is not None,
        with_tools=with_tools,
        with_search=with_tools and any(tool.name == SEARCH_SKILLS for tool in more),
        pinned=options.pinned,
    )
    yield ToolsFeature(
        visible,
        max_file_bytes=options.max_file_bytes,
        list_options=list_options,
        describe_skills=in_tools,
        runtime_meta=added.runtime_meta,
        more=more,
        frame=options.frame,
        offered=options.skill_tools,
    )
    is_whole = options.prompt_scope is PromptScope.WHOLE
    whole = WholePrompts(library, options.prompt_tokens) if is_whole else None
    messages = PromptMessages(visible, options.frame, options.prompt_content, whole)
    yield PromptsFeature(visible, options.catalog_tokens, prompts, messages)
    yield CompletionFeature(library, visible)
    if not in_tools:
        yield InstructionsFeature(visible, list_options)


def _archives(library: Library) -> "SkillArchives":
    from skillwire.features.archives import SkillArchives  # noqa: PLC0415 - few servers need it

    return SkillArchives(library)


def _resources(library: Library, options: ServeOptions, added: AddedFeatures) -> ResourcesFeature:
    archives = _archives(library) if options.archives else None
    documents: list[Document] = [ProblemsDocument(added.problems or catalog_problems)]
    if options.drafts:
        documents.append(  # listed last
            DraftIndexDocument(archives, list_nonconforming=options.list_nonconforming)
        )
    unlisted: list[UnlistedResources] = [
        *options.unlisted,
        *added.unlisted,
        *([] if archives is None else [archives]),
    ]
    if options.drafts:
        unlisted.append(SkillManifests(library))
    if options.legacy_uris:
        from skillwire.features.legacy import LegacyAddresses  # noqa: PLC0415 - few servers need it

        unlisted.append(LegacyAddresses(library))
    return ResourcesFeature(library, documents, unlisted, added.listed, added.runtime_meta)
