"""Any sequence of pushes has the effect that a simple model predicts."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from skillwire import Library, MemorySource
from skillwire.registry.publication import Published
from skillwire.registry.push import prepare, publish
from skillwire.sources import MemorySkill
from tests.support.registries import PUBLISHER, check_whole, source, store
from tests.support.skills import skill_md

PATHS = ("refunds", "acme/orders", "\xe9t\xe9/summer")
CHANNELS = ("stable", "canary")
VERSIONS = ("1.0.0", "2.0.0")
BODIES = ("one", "two")
SKILLS = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(BODIES), min_size=1)


class PushedRegistry(RuleBasedStateMachine):
    """A registry, and what it should contain."""

    @initialize()
    def create(self) -> None:
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name) / "registry.db"
        self.versions: dict[tuple[str, str], str] = {}
        self.pointers: dict[tuple[str, str], str] = {}
        """The version that a channel has of a path."""
        self.revision = 0
        self.sources = {channel: source(self.path, channel) for channel in CHANNELS}

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(
        skills=SKILLS,
        version=st.none() | st.sampled_from(VERSIONS),
        channel=st.sampled_from(CHANNELS),
    )
    def push(self, skills: Mapping[str, str], version: str | None, channel: str) -> None:
        published = anyio.run(self._push, skills, version, channel)
        names = {path: version or f"own {body}" for path, body in skills.items()}
        wrong = {
            path for path, body in skills.items() if self.versions.get((path, names[path]), body) != body
        }
        assert {each.path for each in published.refused} == wrong
        if wrong:
            assert (published.pushed, published.unchanged) == ((), ())
        else:
            moved = {path for path in skills if self.pointers.get((channel, path)) != names[path]}
            self.versions |= {(path, names[path]): body for path, body in skills.items()}
            self.pointers |= {(channel, path): names[path] for path in skills}
            self.revision += bool(moved)
            assert {each.path for each in published.pushed} == moved
            assert {each.path for each in published.unchanged} == set(skills) - moved
        assert published.revision == self.revision

    async def _push(self, skills: Mapping[str, str], version: str | None, channel: str) -> Published:
        files = {path: {"SKILL.md": content_of(path, body)} for path, body in skills.items()}
        library = Library([MemorySource(MemorySkill(path, held) for path, held in files.items())])
        await library.load()
        opened = store(self.path)
        await opened.create()
        releases = prepare(library, version).releases
        return await publish(library, releases, opened, channel=channel, publisher=PUBLISHER)

    @invariant()
    def everything_is_as_predicted(self) -> None:
        if not self.path.exists():
            return
        check_whole(self.path)
        for channel in CHANNELS:
            expected = {
                path: content_of(path, self.versions[path, version])
                for (where, path), version in self.pointers.items()
                if where == channel
            }
            if expected:
                assert anyio.run(self._served, channel) == expected

    async def _served(self, channel: str) -> dict[str, bytes]:
        """Return what a source that is used all along serves, and what a new one serves."""
        followed, new = self.sources[channel], source(self.path, channel)
        scan = await followed.rescan()
        assert scan.problems == ()
        assert (await new.scan()).entries == scan.entries
        read = followed.read
        return {each.origin.location: await read(each, each.files[0]) for each in scan.entries}


def content_of(path: str, body: str) -> bytes:
    return skill_md(path.rpartition("/")[2], body=f"{body}\n")


PushedRegistry.TestCase.settings = settings(max_examples=20, stateful_step_count=12, deadline=None)
TestPushedRegistry = PushedRegistry.TestCase
