"""How skills are offered, and every feature that follows from it, in one place. Knows no SDK."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from skillwire.errors import InvalidValueError
from skillwire.features.addition import AddedFeatures, Addition, join_additions
from skillwire.features.base import Feature
from skillwire.features.catalog_text import DEFAULT_TOKENS
from skillwire.features.completion import CompletionFeature
from skillwire.features.content import Frame
from skillwire.features.directory import DirectoryFeature
from skillwire.features.drafts import DraftIndexDocument, SkillManifests
from skillwire.features.extension import ExtensionFeature
from skillwire.features.instructions import InstructionsFeature
from skillwire.features.prompts import AuthoredPromptsFeature, PromptContent, PromptsFeature
from skillwire.features.resources import (
    Document,
    ProblemsDocument,
    ResourcesFeature,
    UnlistedResources,
    catalog_problems,
)
from skillwire.features.tools import MAX_FILE_BYTES, SkillTools, Tool, ToolsFeature
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.library import Library

if TYPE_CHECKING:
    from skillwire.authoring.skill import Skill
    from skillwire.features.archives import SkillArchives


NAME = "skillwire"
"""What a server calls itself unless its author says otherwise."""


class Channel(StrEnum):
    """Where the model finds the list of skills."""

    INSTRUCTIONS = "instructions"
    TOOL_DESCRIPTION = "tool-description"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How skills are offered to clients: tools, prompts, catalogue, drafts and limits."""

    channel: Channel = Channel.INSTRUCTIONS
    catalog_tokens: int = DEFAULT_TOKENS
    max_file_bytes: int = MAX_FILE_BYTES
    every_client: bool = True
    """Whether they are offered to such clients at all: as tools, prompts and a list of skills."""
    skill_tools: SkillTools = SkillTools.ALWAYS
    """Which of them get the tools that load skills."""
    prompt_content: PromptContent = PromptContent.RESOURCE
    """What the prompts of skills hold. With a `frame` it is always text."""
    drafts: bool = True
    """Whether there is an index for hosts of early drafts, and a manifest of each skill."""
    list_nonconforming: bool = False
    """Whether `skills/list` and the index hold skills that make strict clients refuse the whole list."""
    archives: bool = False
    """Whether every skill can be read as an archive, too."""
    legacy_uris: bool = False
    """Whether a skill can be read at the addresses of a time before the extension."""
    additions: Sequence[Addition] = ()
    """What product areas add, such as `ContractOptions()` for the repository contract."""
    tools: Sequence[Tool] = ()
    """Further tools, behind those that load skills."""
    unlisted: Sequence[UnlistedResources] = ()
    """Further resources, for those who know where they are."""
    frame: Frame | None = None
    """Says from whom a skill is, where its text enters the context of a model and is somebody else's."""

    def __post_init__(self) -> None:
        """Take the values of enums as plain text, too. Raises `InvalidValueError`."""
        for option, kind in _ENUMS.items():
            object.__setattr__(self, option, _member(option, kind, getattr(self, option)))


def chosen_options(options: ServeOptions | None, *, every_client: bool | None) -> ServeOptions:
    """Return the options, or the default ones. What `every_client` says wins."""
    chosen = options or ServeOptions()
    return chosen if every_client is None else replace(chosen, every_client=every_client)


_ENUMS: Mapping[str, type[StrEnum]] = {
    "channel": Channel,
    "skill_tools": SkillTools,
    "prompt_content": PromptContent,
}
"""The options that have one of a few values."""


def _member(option: str, kind: type[StrEnum], value: object) -> StrEnum:
    """Return what `value` says of an option. Raises `InvalidValueError`."""
    try:
        return kind(value)
    except ValueError:
        *others, last = (f"`{each}`" for each in kind)
        raise InvalidValueError(option, str(value), f"{', '.join(others)} or {last}") from None


def all_features(
    library: Library, options: ServeOptions, prompts: "Mapping[str, Skill] | None" = None
) -> list[Feature]:
    """Return every way in to `library`, in the order that a reader would want them listed.

    `prompts` are those of skills written in code.
    """
    added = join_additions([each.add_to(library) for each in options.additions])
    features: list[Feature] = [
        ExtensionFeature(library, list_nonconforming=options.list_nonconforming),
        DirectoryFeature(library),
        _resources(library, options, added),
    ]
    if options.every_client:
        return [*features, *_for_every_client(library, options, prompts or {}, added)]
    if prompts:
        features.append(AuthoredPromptsFeature(prompts))
    return [*features, CompletionFeature(library)]


def _for_every_client(
    library: Library, options: ServeOptions, prompts: "Mapping[str, Skill]", added: AddedFeatures
) -> Iterator[Feature]:
    """Yield what a client can use that knows nothing of the extension."""
    offer = VisibleSkills(library)
    in_tools = options.channel is Channel.TOOL_DESCRIPTION
    yield ToolsFeature(
        offer,
        max_file_bytes=options.max_file_bytes,
        catalog_tokens=options.catalog_tokens,
        describe_skills=in_tools,
        runtime_meta=added.runtime_meta,
        more=[*options.tools, *added.tools],
        frame=options.frame,
        offered=options.skill_tools,
    )
    yield PromptsFeature(offer, options.catalog_tokens, prompts, options.frame, options.prompt_content)
    yield CompletionFeature(library, offer)
    if not in_tools:
        yield InstructionsFeature(
            offer,
            options.catalog_tokens,
            foreign=options.frame is not None,
            with_tools=options.skill_tools is not SkillTools.NEVER,
        )


def _archives(library: Library) -> "SkillArchives":
    from skillwire.features.archives import SkillArchives  # noqa: PLC0415 - as above

    return SkillArchives(library)


def _resources(library: Library, options: ServeOptions, added: AddedFeatures) -> ResourcesFeature:
    archives = _archives(library) if options.archives else None
    documents: list[Document] = [ProblemsDocument(added.problems or catalog_problems)]
    if options.drafts:
        documents.append(  # the last of all
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
        from skillwire.features.legacy import LegacyAddresses  # noqa: PLC0415 - as above

        unlisted.append(LegacyAddresses(library))
    return ResourcesFeature(library, documents, unlisted, added.listed, added.runtime_meta)
