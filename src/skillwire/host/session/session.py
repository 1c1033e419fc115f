"""A session: load skills into one conversation with a model, read files, and check permissions."""

from contextlib import suppress

import anyio

from skillwire.core.names import SKILL_FILE
from skillwire.errors import (
    BadParamsError,
    ChangedError,
    NotApprovedError,
    RequestError,
    SkillwireError,
    VerificationError,
)
from skillwire.features.catalog_text import DEFAULT_TOKENS
from skillwire.host.approvals.consent import Consent
from skillwire.host.approvals.questions import Changes, needs_new_approval
from skillwire.host.errors import translated_errors
from skillwire.host.hosted_skill import HostedSkill, Identity, is_for_models, listed_file
from skillwire.host.place import Place
from skillwire.host.places import Places
from skillwire.host.registry import Registry
from skillwire.host.search import HostSearch
from skillwire.host.servers.packed import read_packed
from skillwire.host.servers.records import path_of
from skillwire.host.session.loaded_skills import (
    LoadedFiles,
    LoadedSkill,
    LoadedSkills,
    NotLoadedError,
    Reading,
    is_root,
)
from skillwire.host.session.model_text import (
    catalog_prompt,
    resource_text,
    results_text,
    shown_text,
    skill_text,
)
from skillwire.host.session.tools import SEARCH_TOOL, AgentTool, session_tools
from skillwire.library.names import UnknownNameError
from skillwire.library.search import Audience, is_installed
from skillwire.protocol.verify import file_faults
from skillwire.safe_text import quoted

_CLOSEST = 3
"""Maximum number of skills to name when there is no skill of a name."""
_CLOSEST_SECONDS, _CLOSEST_CHARACTERS = 1.0, 200
"""The time, and the length of a name, in which they are searched for."""


class Session:
    """Loads skills for a model, and reads files of loaded skills. `Host.session` creates one."""

    def __init__(self, places: Places, consent: Consent, search: HostSearch) -> None:
        self._places, self._consent, self._search = places, consent, search
        self._files = LoadedFiles(places, consent)
        self._loaded_skills = LoadedSkills()
        self._loading = anyio.Lock()

    @property
    def acting(self) -> tuple[HostedSkill, ...]:
        """The skills in the context of the model, each in the version that was loaded (H14)."""
        return tuple(each.skill for each in self._loaded_skills.loaded.values())

    def catalog_prompt(self, tokens: int = DEFAULT_TOKENS) -> str:
        """Return the list of skills and templates for the model, in about `tokens` tokens (H27)."""
        registry = self._places.registry
        return catalog_prompt(registry, tokens, registry.templates)

    def tools(self, *, resources: bool = False) -> tuple[AgentTool, ...]:
        """Return the tools for the model; with `resources`, also one that reads any resource of a server."""
        return session_tools(self, resources=resources)

    # Searching

    async def search_for_model(self, query: str, cursor: str | None = None) -> str:
        """Return skills that the model may load, the best first, as text for the model.

        `cursor` continues after an earlier answer. Raises `BadParamsError`.
        """
        if not self._places.has_discovered:
            await self._places.discover()
        found = await self._search.search(query, cursor=cursor, audience=Audience.MODELS)
        registry = self._places.registry
        return results_text(found, {each.handle: each for each in (*registry, *registry.templates)})

    async def explain_unknown(self, name: str, error: UnknownNameError) -> SkillwireError:
        """Return the error for a name that no skill has, with the three skills that fit the name best.

        It names no skill that the model may not load.
        """
        if type(error) is not UnknownNameError:  # it says what is missing in the name
            return error
        hidden = (each for each in self._places.registry if not is_for_models(each))
        if any(quoted(each.handle) in error.suggestion for each in hidden):
            error = UnknownNameError(name)
        if not is_installed():
            return error
        closest = [each for each in await self._closest_names(name) if quoted(each) not in error.suggestion]
        also = f"; the closest are: {', '.join(map(quoted, closest))}" if closest else ""
        return RequestError(f"{error}{also}; `{SEARCH_TOOL}` finds skills by what they do")

    async def _closest_names(self, name: str) -> list[str]:
        label, _, rest = name.partition(":")
        query = rest if label in self._places.places else name  # each skill of a server has its label
        with suppress(BadParamsError), anyio.move_on_after(_CLOSEST_SECONDS):
            found = await self._search.search(
                query[:_CLOSEST_CHARACTERS], limit=_CLOSEST, audience=Audience.MODELS
            )
            return [each.name for each in found.results]
        return []

    # Loading

    async def load(self, name: str) -> Reading:
        """Load a skill: get approval, then read, verify and return its `SKILL.md` (H13, H14).

        If the skill has changed since it was listed, the user is asked again, once. An archive is fetched
        only after the user has agreed, now or earlier. Raises `SkillwireError`.
        """
        return await self._load_checked(await self._find(name))

    async def _load_checked(self, skill: HostedSkill, *, for_model: bool = False) -> Reading:
        async with self._loading:
            try:
                return await self._load(skill, for_model=for_model)
            except ChangedError:
                return await self._load(self._places.registry.skill(skill.identity), for_model=for_model)

    async def load_for_model(self, name: str) -> Reading:
        """Load a skill that the model requested, or read the requested file of a loaded skill.

        Names may be relative to the skill that was loaded last. Raises `SkillwireError`, such as
        `NotApprovedError` if only users may load the skill.
        """
        found = await self._places.find_or_explain(name, base := self._loaded_skills.last)
        if found.skill is not None and found.path:
            return await self._files.read(self._loaded_skills.get(found.skill), found.path)
        skill = await self._find(name, base)
        _check_is_for_models(skill)
        return await self._load_checked(skill, for_model=True)

    async def _find(self, name: str, base: HostedSkill | None = None) -> HostedSkill:
        """Return the skill with this name. The lookup of an unlisted skill may need approval (H22)."""
        found = await self._places.find_or_explain(name, base)
        if found.skill is None:
            await self._check_foreign_read(*found.identity)
        return await self._places.find(name, base)

    def release(self, name: str) -> None:
        """Unload a skill. Raises `RequestError` if the skill is not loaded.

        Call this method only when no copy of the skill's `SKILL.md` is left in the context.
        """
        self._loaded_skills.end(self._get_loaded(name))

    async def _load(self, skill: HostedSkill, *, for_model: bool) -> Reading:
        if skill.is_packed and await self._consent.has_approval(skill):
            skill = await self._places.with_files(skill)  # another archive may have the approved files
        others = tuple(each for each in self._loaded_skills.foreign() if each.identity != skill.identity)
        if not await self._consent.ask_to_load(skill, others):
            raise NotApprovedError(skill.origin, self._consent.refusal(f"the skill {skill.quoted}"))
        self._check_is_current(skill)  # it may have changed while the user was deciding
        if skill.is_packed:
            packed, skill = skill, await self._places.with_files(skill)
            self._check_is_current(skill)  # or while its archive was fetched
            if not await self._consent.bind(packed, skill):
                raise NotApprovedError(skill.origin, f"the skill {skill.quoted} is not approved any more")
        if for_model:
            _check_is_for_models(skill)  # some drafts list only a part of the frontmatter
        loaded = LoadedSkill(skill)
        content = await self._files.document(loaded)
        self._loaded_skills.begin(loaded)
        return Reading(skill.label, skill.uri, content, skill_text(skill, content.decode()))

    def _check_is_current(self, skill: HostedSkill) -> None:
        fresh = self._places.registry.get(skill.identity)
        if fresh is not None and needs_new_approval(skill, fresh):
            raise ChangedError(skill, str(Changes.between(skill, fresh)))

    # Reading

    async def read_file(self, name: str, path: str) -> Reading:
        """Return a file of a loaded skill (H14, H19). Raises `SkillwireError`.

        `path` is a path or URI as it appears in the text of the skill. It may also refer to another loaded
        skill of the same server, or to a file in that skill.
        """
        return await self._files.read(*self._locate(name, path))

    async def list_files(self, name: str, path: str = "") -> str:
        """Return the files below a folder of a loaded skill, for the model (H16). Raises `SkillwireError`."""
        return await self._files.list(*self._locate(name, path))

    async def read_for_model(self, name: str, path: str) -> str:
        """Return a file, or the list of files in a folder, as text for the model. Raises `SkillwireError`."""
        return await self._files.read_or_list(*self._locate(name, path))

    def _locate(self, name: str, path: str) -> tuple[LoadedSkill, str]:
        """Return the loaded skill to which `name` and `path` refer, and a file or folder in it (H14, H19)."""
        loaded, file = self._loaded_skills.find(name, self._places.registry)
        if is_root(path):
            return loaded, file
        if self._files.has(loaded, path):
            return loaded, path
        beside = self._places.registry.find_beside(path, loaded.skill)
        if beside is None:
            return loaded, path
        if beside.skill is None:  # a skill of a template, which was never looked up
            label, uri = beside.identity
            raise NotLoadedError(f"{label}:{'/'.join(path_of(uri))}")
        if beside.identity == loaded.skill.identity:
            return loaded, beside.path or SKILL_FILE
        return self._loaded_skills.get(beside.skill), beside.path or SKILL_FILE

    async def read_resource(self, server: str, uri: str) -> Reading:
        """Return a resource of a server. This never loads a skill (H12). Raises `SkillwireError`.

        `uri` may also be the path of a listed skill of that server, or of a file in one. A file of a loaded
        skill is verified against the loaded version. While skills of other servers are loaded, the user is
        asked each time, because one of them may have caused the read (H22).
        """
        uri = self._address(server, uri)
        place = await self._check_foreign_read(server, uri)
        origin = place.origin
        if (loaded := self._loaded_skills.around(server, uri)) is not None:
            return await self._files.read(loaded, uri)
        listed = self._places.registry.file((server, uri))
        packed = None if listed is None else self._places.registry.packed_owner(server, listed)
        with translated_errors(origin, uri):
            if packed is not None and listed is not None:
                content = await read_packed(place, packed, listed)
            else:
                content = await place.read(uri, None if listed is None else listed.size)
        if listed is not None and (faults := tuple(file_faults(listed, content))):
            raise VerificationError(origin, *faults)
        text = resource_text(server, uri, shown_text(content), local=place.local)
        return Reading(server, uri, content, text)

    def _address(self, server: str, path: str) -> str:
        """Return the URI of the listed skill or file at a path on a server.

        Return `path` unchanged if it is a URI, or if nothing is listed at it.
        """
        if "://" in path:
            return path
        with suppress(RequestError):
            found = self._places.registry.find(f"{server}:{path}")
            if found.skill is not None:
                file = listed_file(found.skill, found.path) if found.path else None
                return found.skill.uri if not found.path else path if file is None else file.uri
        return path

    async def _check_foreign_read(self, server: str, uri: str) -> Place:
        """Return the place to read from. If skills of other servers are loaded, ask the user first (H22).

        Raises `NotApprovedError` if the user says no.
        """
        place = self._places.place(server)
        others = tuple(each for each in self._loaded_skills.foreign() if each.label != server)
        if others and not await self._consent.ask_foreign_read(others, server, uri):
            origins = ", ".join(dict.fromkeys(each.origin for each in others))
            message = self._consent.refusal(f"this read, which a skill of {origins} may have caused")
            raise NotApprovedError(place.origin, message)
        return place

    # Permissions

    async def may_execute(self, what: str) -> bool:
        """Return whether the code `what` may run (H21).

        If a server's skill is loaded, the user is asked, unless an earlier answer for this session applies.
        """
        acting = self._loaded_skills.foreign()
        return not acting or await self._consent.ask_to_execute(
            what, acting, changed=self._loaded_skills.changed
        )

    async def allowed_tools(self, name: str) -> frozenset[str]:
        """Return the tools that a loaded skill may use without asking the user.

        A server's skill may use only the requested tools that the user granted. Other frontmatter fields, and
        the frontmatter of nested skills, grant no tools (H18, H21). Raises `SkillwireError`.
        """
        loaded = self._get_loaded(name)
        await self._files.must_be_approved(loaded)
        return await self._places.granted(loaded.skill)

    # Called by the host

    def on_registry_change(self, registry: Registry) -> None:
        """Mark loaded skills that have changed, and drop the session's approvals of changed skills (H15)."""
        for identity, loaded in self._loaded_skills.loaded.items():
            fresh = registry.get(identity)
            if fresh is not None and needs_new_approval(loaded.skill, fresh):
                loaded.changed = loaded.changed or str(Changes.between(loaded.skill, fresh))
        self._consent.on_registry_change(registry)

    def withdraw(self, identity: Identity) -> None:
        """Drop the session's approval of a skill, and permissions to run code while the skill is loaded."""
        self._consent.withdraw(identity)

    def _get_loaded(self, name: str) -> LoadedSkill:
        return self._loaded_skills.find(name, self._places.registry)[0]


def _check_is_for_models(skill: HostedSkill) -> None:
    if not is_for_models(skill):
        message = f"the skill {skill.quoted} is not for models to load; ask the user to start it"
        raise NotApprovedError(skill.origin, message)
