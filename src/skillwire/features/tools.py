"""The tools `load-skill` and `skill-resource`, and tools added by product areas."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from anyio.lowlevel import checkpoint

from skillwire.core.concurrency import MAX_CONCURRENT_READS, process_in_order
from skillwire.core.json_text import json_bytes
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Json, LiveFile, SkillFile, SkillRecord
from skillwire.errors import BadParamsError, ConflictError, SkillwireError
from skillwire.features.base import Answer, Call, Feature, ListKind, Method
from skillwire.features.catalog_text import SEARCH_SKILLS, ListOptions, usage_text
from skillwire.features.content import (
    Frame,
    RuntimeMeta,
    document_block,
    folder_file_blocks,
    no_meta,
    text_block,
    with_meta,
    without_frame,
)
from skillwire.features.list_text import SkillListText
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.change import Change
from skillwire.library.library import Reading
from skillwire.library.names import (
    MAX_SUGGESTIONS,
    Reference,
    UnknownNameError,
    ask_which,
    did_you_mean,
)
from skillwire.library.search import Audience
from skillwire.protocol.messages import TOOLS_CALL, TOOLS_LIST
from skillwire.safe_text import escape_invisible, quoted

Run: TypeAlias = Callable[[Call], Awaitable[dict[str, Json]]]
"""A function that runs a tool. It takes the arguments as a `Call`, and returns the tool result."""
LOAD_SKILL = "load-skill"
LOAD_SKILL_ALIAS = "skill"
"""The name that some models use for the tool or its argument. Accepted, but not listed."""
SKILL_RESOURCE = "skill-resource"
MAX_FILE_BYTES = 1024 * 1024
_READ_ONLY: dict[str, Json] = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
_Blocks: TypeAlias = tuple[list[Json], SkillRecord | None]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, for `tools/list` and `tools/call`."""

    name: str
    description: str
    input_schema: Mapping[str, Json]
    annotations: Mapping[str, Json]
    run: Run
    output_schema: Mapping[str, Json] | None = None
    meta: Mapping[str, Json] = field(default_factory=dict[str, Json])
    changes: bool = False
    """Whether the tool changes the server. It is then listed only for clients that may change the server."""
    for_skills: bool = False
    """Whether only clients that get the tools for loading skills get this tool."""

    def to_json(self) -> dict[str, Json]:
        entry: dict[str, Json] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": dict(self.input_schema),
            "annotations": dict(self.annotations),
        }
        if self.output_schema is not None:
            entry["outputSchema"] = dict(self.output_schema)
        return {**entry, "_meta": dict(self.meta)} if self.meta else entry


def structured_result(value: dict[str, Json], *, is_error: bool = False) -> dict[str, Json]:
    """Return a tool result as structured content for programs, and as text for models."""
    text = json_bytes(value, indented=True).decode().removesuffix("\n")
    return {"content": [text_block(text)], "structuredContent": value, "isError": is_error}


class SkillTools(StrEnum):
    """Which clients get `load-skill` and `skill-resource`."""

    ALWAYS = "always"
    AUTO = "auto"
    """Clients that do not declare the Skills extension. Others load skills by themselves."""
    NEVER = "never"


class ToolError(SkillwireError):
    """An error that the model can correct. Sent as a tool result, not as a protocol error."""


class ToolsFeature(Feature):
    """Offers tools with which a model loads skills and reads their files, and the tools of product areas.

    A model can load only skills that are for models. It can read files of all skills that are not withheld.
    """

    name = "tools"

    def __init__(
        self,
        visible_skills: VisibleSkills,
        *,
        max_file_bytes: int = MAX_FILE_BYTES,
        list_options: ListOptions | None = None,
        describe_skills: bool = False,
        runtime_meta: RuntimeMeta = no_meta,
        more: Sequence[Tool] = (),
        frame: Frame | None = None,
        offered: SkillTools = SkillTools.ALWAYS,
    ) -> None:
        self._visible_skills = visible_skills
        self._max_file_bytes = max_file_bytes
        self._list_options = list_options or ListOptions()
        self._list = SkillListText(visible_skills, self._list_options)
        self._describe_skills = describe_skills
        self._offered = offered
        self._runtime_meta = runtime_meta
        self._frame = frame or without_frame
        self._folder_frame = frame
        self._tools: dict[str, Callable[[Call], Awaitable[_Blocks]]] = {
            LOAD_SKILL: self._load_skill,
            LOAD_SKILL_ALIAS: self._load_skill,
            SKILL_RESOURCE: self._skill_resource,
        }
        self._more = {tool.name: tool for tool in more}
        if taken := next((tool.name for tool in more if tool.name in self._tools), None):
            raise ConflictError(f"the tool `{taken}` already exists; rename the other one")

    def methods(self) -> Mapping[str, Method]:
        return {TOOLS_LIST: self.list, TOOLS_CALL: self.call}

    def claims(self, method: str, call: Call) -> bool:
        name = call.params.get("name")
        if method != TOOLS_CALL or not isinstance(name, str):
            return False
        more = self._more.get(name)
        is_for_skills = name in {LOAD_SKILL, SKILL_RESOURCE} if more is None else more.for_skills
        return self._offered is not SkillTools.NEVER if is_for_skills else more is not None

    def lists(self) -> Collection[ListKind]:
        return (ListKind.TOOLS,) if self._describe_skills else ()

    def lists_changed(self, change: Change) -> Iterable[ListKind]:
        """Return the list of tools if a description contains the skills and these have changed.

        In all other cases, a notification would make clients drop a valid cache.
        """
        return self.lists() if self._visible_skills.differs(change, assistant=True) else ()

    async def list(self, call: Call) -> Answer:
        call.reject_cursor()
        for_skills = self._offers_to(call)
        offered = (
            tool
            for tool in self._more.values()
            if (call.can_change or not tool.changes) and (for_skills or not tool.for_skills)
        )
        more: list[Json] = [tool.to_json() for tool in offered]
        own: list[Json] = [self._load_skill_tool(), _skill_resource_tool()] if for_skills else []
        return Answer({"tools": [*own, *more]}, private=self._depends_on_client())

    def _depends_on_client(self) -> bool:
        """Return whether only some clients get the tools that load skills."""
        return self._offered is SkillTools.AUTO and not self._describe_skills

    def _offers_to(self, call: Call) -> bool:
        """Return whether the requesting client gets the tools that load skills."""
        match self._offered:
            case SkillTools.ALWAYS:
                return True
            case SkillTools.NEVER:
                return False
            case SkillTools.AUTO:  # a description with the list of skills must reach all clients
                return self._describe_skills or not call.supports_skills

    async def call(self, call: Call) -> Answer:
        other = self._more.get(call.text("name"))
        if other is not None and (self._offers_to(call) or not other.for_skills):
            return Answer(await other.run(call.part("arguments")))
        tool, arguments = self._tools.get(call.text("name")), call.part("arguments")
        if tool is None or not self._offers_to(call):
            raise BadParamsError(f"there is no tool {quoted(call.text('name'))}")
        try:
            blocks, entry = await tool(arguments)
        except UnknownNameError as error:
            return Answer({"content": [text_block(await self._explain_unknown(error))], "isError": True})
        except SkillwireError as error:
            return Answer({"content": [text_block(str(error))], "isError": True})
        result: dict[str, Json] = {"content": blocks, "isError": False}
        return Answer(result if entry is None else with_meta(result, entry, self._runtime_meta(entry)))

    async def _load_skill(self, arguments: Call) -> _Blocks:
        uses_alias = LOAD_SKILL_ALIAS in arguments.params and "name" not in arguments.params
        name = arguments.text(LOAD_SKILL_ALIAS if uses_alias else "name")
        if not name:
            return [text_block(self._list.text())], None
        found = self._visible_skills.names.resolve(name, offered=self._visible_skills.for_models())
        self._check_for_models(name, found.entry)
        entry = await self._visible_skills.confirmed(found.entry)
        self._check_for_models(name, entry)
        handle = self._visible_skills.names.handle(entry)
        taken = [text_block(_taken(name, handle))] if found.is_similar else []
        if found.path:
            return [*await self._file_or_folder(entry, found.path), *taken], entry
        reading = await self._visible_skills.library.read(entry.uri)
        self._check_for_models(name, self._visible_skills.deciding_record(entry, reading.served.entry))
        return [document_block(reading, self._frame), *taken], entry

    async def _explain_unknown(self, error: UnknownNameError) -> str:
        """Return the error for an unknown name, with the closest skills and the search tool (F6)."""
        if SEARCH_SKILLS not in self._more or (error.suggestion and not error.closest):
            return str(error)
        found = await self._visible_skills.library.index.closest(error.name, Audience.MODELS)
        closest = list(dict.fromkeys([*error.closest, *found]))[:MAX_SUGGESTIONS]
        message = str(UnknownNameError(error.name, ask_which(closest)))
        return f"{message}{'' if closest else ';'} `{SEARCH_SKILLS}` finds skills by what they do"

    def _check_for_models(self, name: str, entry: SkillRecord) -> None:
        if not self._visible_skills.is_for_models(entry):
            hint = (
                "; ask the user to start it by its prompt"
                if self._visible_skills.is_for_people(entry)
                else ""
            )
            raise ToolError(f"the skill {quoted(name)} is not for models to load{hint}")

    async def _skill_resource(self, arguments: Call) -> _Blocks:
        names, requested = self._visible_skills.names, arguments.text("path")
        base = names.resolve(arguments.text("skill"))
        entry, path = await self._confirmed(base.entry), base.path
        if requested.strip("/") not in {"", "."}:
            found = self._resolve_in(entry, requested)
            entry, path = await self._confirmed(found.entry), found.path
            if entry.uri != base.entry.uri:  # the text of a skill may refer to another skill
                self._check_for_models(requested, entry)
                path = path or SKILL_FILE
        if not path:
            return [text_block(self._frame(entry, "", _file_list(entry)))], entry
        return await self._file_or_folder(entry, path), entry

    async def _confirmed(self, entry: SkillRecord) -> SkillRecord:
        """Return the current record of a skill. Raises `ToolError` if the skill is withheld."""
        if not self._visible_skills.is_visible(entry):
            raise ToolError(f"the skill {quoted(entry.name)} is not for models to read")
        return await self._visible_skills.confirmed(self._visible_skills.current(entry))

    def _resolve_in(self, entry: SkillRecord, path: str) -> Reference:
        """Return what a path in the text of a skill means: a file or folder of the skill, or another skill.

        Raises `ToolError` if there is none, or if the text of a server's skill refers to another source.
        """
        names = self._visible_skills.names
        try:
            found = names.resolve(path, base=entry)
        except UnknownNameError as error:
            raise ToolError(_no_such_file(entry, path)) from error
        if entry.origin.foreign and found.entry.origin.source != entry.origin.source:
            # The text of one server's skill must not cause requests to another server (H22).
            raise ToolError(_no_such_file(entry, path))
        if found.entry.uri == entry.uri and not found.path:
            return Reference(found.entry, SKILL_FILE)
        return found

    async def _file_or_folder(self, entry: SkillRecord, path: str) -> "list[Json]":
        if any(file.path == path for file in entry.files):
            return [document_block(await self._read(entry, path), self._frame)]
        inside = [file for file in entry.files if file.path.startswith(f"{path}/")]
        if not inside and path not in entry.directories:
            raise ToolError(_no_such_file(entry, path))
        return await self._directory(entry, path, inside)

    async def _directory(
        self, entry: SkillRecord, path: str, inside: "list[SkillFile | LiveFile]"
    ) -> "list[Json]":
        """Return the blocks of every file below `path`. Raises `ToolError` if they are too large.

        The listed sizes are checked before reading. Live files have none, and are checked while reading.
        """
        self._check_total_size(path, sum(file.size for file in inside if isinstance(file, SkillFile)))
        readings: list[Reading] = []
        total = 0

        async def read(file: SkillFile | LiveFile) -> Reading:
            await checkpoint()  # a folder can have hundreds of files: let other tasks run
            return await self._read(entry, file.path)

        def take(reading: Reading) -> None:
            nonlocal total
            readings.append(reading)
            total += len(reading.content)
            self._check_total_size(path, total)

        await process_in_order(inside, read, take, MAX_CONCURRENT_READS if entry.origin.foreign else 1)
        return [block for reading in readings for block in folder_file_blocks(reading, self._folder_frame)]

    def _check_total_size(self, path: str, total: int) -> None:
        if total > self._max_file_bytes:
            limit = f"the limit is {self._max_file_bytes:,} bytes"
            raise ToolError(f"{quoted(path)} has {total:,} bytes; {limit}: read its files one by one")

    async def _read(self, entry: SkillRecord, path: str) -> Reading:
        reading = await self._visible_skills.library.read(entry.uri_of(path))
        if not self._visible_skills.is_visible(reading.served.entry):  # it has changed, and is not approved
            raise ToolError(f"the skill {quoted(entry.name)} is not for models to read")
        if len(reading.content) > self._max_file_bytes:
            limit = f"the limit is {self._max_file_bytes:,} bytes per file"
            raise ToolError(f"{quoted(path)} has {len(reading.content):,} bytes; {limit}")
        return reading

    def _load_skill_tool(self) -> dict[str, Json]:
        description = (
            "Load a skill: instructions for a particular task, to be followed completely. "
            'To see which skills there are, call it with the name "": it returns the list of skills.'
        )
        if self._describe_skills:
            usage = f"{description}\n\n{usage_text(self._list_options)}\n\n"
            description = usage + self._list.text(len(usage))
        return _tool(
            LOAD_SKILL, description, {"name": 'The name of the skill, or "" for the list of skills.'}
        )


def _skill_resource_tool() -> dict[str, Json]:
    description = (
        "Read a file that a skill refers to. A folder returns every file in it, each below its path; "
        'the path "" returns the list of files of the skill.'
    )
    return _tool(
        SKILL_RESOURCE,
        description,
        {
            "skill": "The name of the skill.",
            "path": 'A file or folder of the skill, such as "references/guide.md".',
        },
    )


def _tool(name: str, description: str, parameters: Mapping[str, str]) -> dict[str, Json]:
    properties: dict[str, Json] = {
        key: {"type": "string", "description": text} for key, text in parameters.items()
    }
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": list(parameters)},
        "annotations": _READ_ONLY,
    }


def _file_list(entry: SkillRecord) -> str:
    lines = [
        f"{escape_invisible(file.path)} ({file.mime_type}, {file.size:,} bytes)"
        if isinstance(file, SkillFile)
        else escape_invisible(file.path)
        for file in entry.files
    ]
    return "\n".join(lines)


def _taken(written: str, name: str) -> str:
    """Return a note that the name differs from what was written."""
    return f"There is no skill {quoted(written)}; this is {quoted(name)}."


def _no_such_file(entry: SkillRecord, path: str) -> str:
    hint = did_you_mean(path, [file.path for file in entry.files])
    return f"the skill has no file {quoted(path)}; {hint or 'an empty path lists its files'}"
