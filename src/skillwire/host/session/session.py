"""A session: load skills into one conversation with a model, and read their files."""

import anyio

from skillwire.errors import ChangedError, NotApprovedError, VerificationError
from skillwire.features.catalog_text import DEFAULT_TOKENS
from skillwire.host.approvals.consent import Consent
from skillwire.host.approvals.questions import Changes, needs_new_approval
from skillwire.host.errors import translated_errors
from skillwire.host.hosted_skill import HostedSkill, Identity, is_for_models
from skillwire.host.place import Place
from skillwire.host.places import Places
from skillwire.host.registry import Registry
from skillwire.host.session.loaded_skills import LoadedFiles, LoadedSkill, LoadedSkills, Reading
from skillwire.host.session.model_text import catalog_prompt, resource_text, shown_text, skill_text
from skillwire.host.session.tools import AgentTool, session_tools
from skillwire.protocol.verify import file_faults


class Session:
    """Loads skills for a model, and reads files of loaded skills. `Host.session` makes one."""

    def __init__(self, places: Places, consent: Consent) -> None:
        self._places, self._consent = places, consent
        self._files = LoadedFiles(places, consent)
        self._loaded_skills = LoadedSkills()
        self._loading = anyio.Lock()

    @property
    def acting(self) -> tuple[HostedSkill, ...]:
        """The skills in the context of the model, each in the version that was loaded (H14)."""
        return tuple(each.skill for each in self._loaded_skills.loaded.values())

    def catalog_prompt(self, tokens: int = DEFAULT_TOKENS) -> str:
        """Return the list of skills for the model, in about `tokens` tokens (H27)."""
        return catalog_prompt(self._places.registry, tokens)

    def tools(self, *, resources: bool = False) -> tuple[AgentTool, ...]:
        """Return the tools for the model; with `resources`, also one that reads any resource of a server."""
        return session_tools(self, resources=resources)

    # Loading

    async def load(self, name: str) -> Reading:
        """Load a skill: get approval, read and verify its `SKILL.md` (H13, H14). Raises `SkillwireError`.

        If the skill has changed since it was listed, the user is asked again, once.
        """
        skill = await self._find(name)
        async with self._loading:
            try:
                return await self._load(skill)
            except ChangedError:
                return await self._load(self._places.registry.skill(skill.identity))

    async def load_for_model(self, name: str) -> Reading:
        """Load a skill that the model requested. Raises `NotApprovedError` if only users may load it."""
        skill = await self._find(name)
        if not is_for_models(skill):
            message = f"the skill {skill.quoted} is not for models to load; ask the user to start it"
            raise NotApprovedError(skill.origin, message)
        return await self.load(skill.handle)

    async def _find(self, name: str) -> HostedSkill:
        """Return the skill with this name. The lookup of an unlisted URI may need approval (H22)."""
        if (unlisted := await self._places.unlisted_identity(name)) is not None:
            await self._check_foreign_read(*unlisted)
        return await self._places.find(name)

    def release(self, name: str) -> None:
        """Unload a skill. Call it only when no copy of its `SKILL.md` is left in the context."""
        self._loaded_skills.end(self._get_loaded(name))

    async def _load(self, skill: HostedSkill) -> Reading:
        others = tuple(each for each in self._loaded_skills.foreign() if each.identity != skill.identity)
        if not await self._consent.ask_to_load(skill, others):
            raise NotApprovedError(skill.origin, f"the user did not approve the skill {skill.quoted}")
        fresh = self._places.registry.get(skill.identity)
        if fresh is not None and needs_new_approval(skill, fresh):
            # It changed while the user was deciding.
            raise ChangedError(skill, str(Changes.between(skill, fresh)))
        loaded = LoadedSkill(skill)
        content = await self._files.document(loaded)
        self._loaded_skills.begin(loaded)
        return Reading(skill.label, skill.uri, content, skill_text(skill, content.decode()))

    # Reading

    async def read_file(self, name: str, path: str) -> Reading:
        """Return a file of a loaded skill by its path or URI (H14, H19). Raises `SkillwireError`."""
        return await self._files.read(self._get_loaded(name), path)

    async def list_files(self, name: str, path: str = "") -> str:
        """Return the files below a folder of a loaded skill, for the model (H16). Raises `SkillwireError`."""
        return await self._files.list(self._get_loaded(name), path)

    async def read_for_model(self, name: str, path: str) -> str:
        """Return a file, or the list of files in a folder, as text for the model."""
        if self._files.is_folder(self._get_loaded(name), path):
            return await self.list_files(name, path)
        return (await self.read_file(name, path)).text

    async def read_resource(self, server: str, uri: str) -> Reading:
        """Return a resource of a server. This never loads a skill (H12). Raises `SkillwireError`.

        A file of a loaded skill is verified as such. While skills of other servers are loaded, the user is
        asked each time, because one of them may have caused the read (H22).
        """
        place = await self._check_foreign_read(server, uri)
        origin = place.origin
        if (loaded := self._loaded_skills.around(server, uri)) is not None:
            return await self._files.read(loaded, uri)
        listed = self._places.registry.file((server, uri))
        with translated_errors(origin, uri):
            content = await place.read(uri, None if listed is None else listed.size)
        if listed is not None and (faults := tuple(file_faults(listed, content))):
            raise VerificationError(origin, *faults)
        text = resource_text(server, uri, shown_text(content), local=place.local)
        return Reading(server, uri, content, text)

    async def _check_foreign_read(self, server: str, uri: str) -> Place:
        """Return the place to read from. If skills of other servers are loaded, ask the user first (H22).

        Raises `NotApprovedError` if the user says no.
        """
        place = self._places.place(server)
        others = tuple(each for each in self._loaded_skills.foreign() if each.label != server)
        if others and not await self._consent.ask_foreign_read(others, server, uri):
            origins = ", ".join(dict.fromkeys(each.origin for each in others))
            message = f"the user did not approve this read, which a skill of {origins} may have caused"
            raise NotApprovedError(place.origin, message)
        return place

    # Permissions

    async def may_execute(self, what: str) -> bool:
        """Whether the code `what` may run. While a server's skill is loaded, the user is asked (H21)."""
        acting = self._loaded_skills.foreign()
        return not acting or await self._consent.ask_to_execute(
            what, acting, changed=self._loaded_skills.changed
        )

    async def allowed_tools(self, name: str) -> frozenset[str]:
        """Return the tools that a loaded skill may use without asking. A server's skill needs a grant.

        No other frontmatter field has an effect. The frontmatter of a nested skill has none (H18, H21).
        """
        loaded = self._get_loaded(name)
        await self._files.must_be_approved(loaded)
        return await self._places.granted(loaded.skill)

    # Called by the host

    def on_registry_change(self, registry: Registry) -> None:
        """Mark loaded skills that have changed. They need to be approved again (H15)."""
        for identity, loaded in self._loaded_skills.loaded.items():
            fresh = registry.get(identity)
            if fresh is not None and needs_new_approval(loaded.skill, fresh):
                loaded.changed = loaded.changed or str(Changes.between(loaded.skill, fresh))
        self._consent.on_registry_change(registry)

    def withdraw(self, identity: Identity) -> None:
        """Drop the session's approval of a skill."""
        self._consent.withdraw(identity)

    def _get_loaded(self, name: str) -> LoadedSkill:
        return self._loaded_skills.named(name, self._places.registry)
