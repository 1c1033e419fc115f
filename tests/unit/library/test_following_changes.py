"""A library that followed many changes has the same catalog, names, lists and texts as a new library."""

import gc
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from weakref import ref

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import Library, MemorySource, Source
from skillwire.core.patterns import Selection
from skillwire.core.record import SkillRecord, Trust, Withheld
from skillwire.features.base import Call, Feature
from skillwire.features.catalog_text import ListOptions, available_skills
from skillwire.features.extension import ExtensionFeature
from skillwire.features.list_text import SkillListText
from skillwire.features.prompts import PromptsFeature
from skillwire.features.resources import ProblemsDocument, ResourcesFeature
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change, Edit
from skillwire.library.visibility import Override, VisibilityPolicy
from skillwire.protocol.messages import PROMPTS_LIST, RESOURCES_LIST, RESOURCES_READ, SKILLS_GET, SKILLS_LIST
from skillwire.sources import MemorySkill
from skillwire.sources.base import Validator
from tests.support.skills import skill_md
from tests.support.sorted_source import SortedSource

PATHS = ["a", "b", "azure-x", "azure-y", "team/a", "team/b", "team/deep/c", "acme/team/a", "b/inner", "skill"]
OPTIONS = [
    ListOptions(),
    ListOptions(tokens=600, pinned=["b", "team/*"]),
    ListOptions(tokens=500, with_search=True, pinned=["memory/a", "azure-*"]),
]


def skill(random: Random, path: str) -> MemorySkill:
    """Return a skill with one of several contents: some have a warning, are nonconforming or not for all."""
    name = path.rpartition("/")[2]
    main = random.choice(
        [
            skill_md(name),
            skill_md(name, f"Version {random.random()}. " + "word " * random.choice([2, 80])),
            skill_md(name, "x" * 1100),
            f"---\nname: {name}\ndescription: d\nlicense: 2\n---\n".encode(),
            f"---\nname: {name}\ndescription: d\ndisable-model-invocation: true\n---\n".encode(),
            f"---\nname: {name}\ndescription: d\nuser-invocable: false\n---\n".encode(),
            b"no frontmatter",
            b"---\nbroken",
        ]
    )
    return MemorySkill(path, {"SKILL.md": main, **({"n.md": b"n"} if random.random() < 0.3 else {})})


def withhold_some(entry: SkillRecord) -> SkillRecord:
    if not entry.description.endswith("x" * 1000):
        return entry
    return replace(entry, trust=Trust.WITHHELD, withheld=Withheld("no one approved it", "approve it"))


def change(random: Random, source: MemorySource, present: set[str]) -> list[str]:
    """Add, replace or remove up to three skills, and return their paths."""
    paths = random.sample(PATHS, k=random.randint(1, 3))
    for path in paths:
        if path in present and random.random() < 0.5:
            source.remove(path)
            present.discard(path)
        else:
            source.put(skill(random, path))
            present.add(path)
    return paths


class Served:
    """A library with the features that list its skills."""

    def __init__(
        self, sources: Sequence[Source], visibility: VisibilityPolicy, selection: Selection | None
    ) -> None:
        self.library = Library(sources, visibility=visibility, selection=selection)
        self.visible = VisibleSkills.of(self.library)
        extension = ExtensionFeature(self.library)
        resources = ResourcesFeature(self.library, [ProblemsDocument()])
        self.features: dict[str, Feature] = {
            SKILLS_LIST: extension,
            SKILLS_GET: extension,
            RESOURCES_LIST: resources,
            RESOURCES_READ: resources,
            PROMPTS_LIST: PromptsFeature(self.visible),
        }
        self.texts = [SkillListText(self.visible, options) for options in OPTIONS]

    async def answer(self, method: str, **params: object) -> dict[str, object]:
        return dict((await self.features[method].methods()[method](Call(params))).result)

    def validator(self, method: str, **params: object) -> Validator | None:
        return self.features[method].validator(method, Call(params))

    async def facts(self) -> dict[str, object]:
        """Return everything that is derived from the catalog."""
        catalog, visible = self.library.catalog, self.visible
        return {
            "catalog": catalog,
            "entries": list(catalog.entries.items()),
            "positions": [catalog.positions[uri] for uri in catalog.entries],
            "from the middle": list(catalog.entries.records_from(len(catalog.entries) // 2)),
            "named": {name: catalog.entries.named(name) for name in ("a", "b", "c", "skill", "azure-x")},
            "problems": catalog.problems,
            "has problems": catalog.has_problems,
            "withheld": catalog.withheld,
            "files": dict(catalog.files),
            "folders": dict(catalog.children_by_folder),
            "handles": list(visible.names.handles()),
            "for models": list(visible.for_models().items()),
            "for people": list(visible.for_people().items()),
            "numbers": (len(visible.for_models()), len(visible.for_people())),
            "texts": [text.text(before) for text in self.texts for before in (0, 1500)],
            "lists": [await self.answer(method) for method in (SKILLS_LIST, RESOURCES_LIST, PROMPTS_LIST)],
            "left out": self.library.left_out,
        }


@settings(max_examples=40)
@given(
    st.randoms(use_true_random=False),
    st.sampled_from([None, Selection(exclude=("azure-*",))]),
    st.sampled_from(["one source", "sorted sources", "all kinds"]),
)
def test_library_that_followed_changes_equals_a_new_one(
    random: Random, selection: Selection | None, kind: str
) -> None:
    anyio.run(follow_changes, random, selection, kind)


async def follow_changes(random: Random, selection: Selection | None, kind: str) -> None:
    labels = ["memory"] if kind == "one source" else ["memory", "second", "third"]
    memories = [MemorySource(label=label) for label in labels]
    present = [set[str]() for _ in memories]
    sources: list[Source] = [SortedSource(each, withhold_some) for each in memories]
    if kind == "all kinds":
        sources[1] = memories[1]
    visibility = VisibilityPolicy({"skill://b/SKILL.md": Override(assistant=random.random() < 0.5)})
    served = Served(sources, visibility, selection)
    await served.library.load()
    changes: list[Change] = []
    served.library.listen(changes.append)
    for _ in range(5):
        before, facts = served.library.catalog, await served.facts()
        changes.clear()
        at = random.randrange(len(memories))
        change(random, memories[at], present[at])
        await served.library.rescan_source(sources[at])
        new = Served(sources, visibility, selection)
        await new.library.load()
        found = await served.facts()
        assert found == await new.facts()
        check_change(before, served.library.catalog, changes, facts == found)


def check_change(before: Catalog, after: Catalog, changes: list[Change], same: bool) -> None:  # noqa: FBT001
    """Check the change that listeners got, by comparing all skills of the two catalogs."""
    old, new = dict(before.entries), dict(after.entries)
    gone = [Edit(entry, None) for uri, entry in old.items() if uri not in new]
    others = [Edit(old.get(uri), entry) for uri, entry in new.items() if old.get(uri) != entry]
    if not changes:
        assert (before.problems, gone, others) == (after.problems, [], [])
        return
    (found,) = changes
    assert found.before is before
    assert found.after is after
    assert list(found.edits) == [*gone, *others]
    assert found.has_problem_changes == (sorted_problems(before) != sorted_problems(after))
    assert not same


def sorted_problems(catalog: Catalog) -> list[str]:
    return sorted(map(repr, catalog.problems))


@settings(max_examples=40)
@given(st.randoms(use_true_random=False))
def test_validator_is_current_only_if_the_response_is_the_same(random: Random) -> None:
    anyio.run(check_validators, random)


async def check_validators(random: Random) -> None:
    memory, present = MemorySource(), set[str]()
    source = SortedSource(memory)
    served = Served([source], VisibilityPolicy(), None)
    change(random, memory, present)
    await served.library.load()
    stored: dict[tuple[str, str], tuple[Validator, dict[str, object]]] = {}
    for _ in range(4):
        questions = [(SKILLS_LIST, ""), *((SKILLS_GET, uri) for uri in served.library.catalog.entries)]
        questions += [(RESOURCES_READ, uri) for uri in served.library.catalog.files]
        for method, uri in questions:
            params = {"uri": uri} if uri else {}
            if (validator := served.validator(method, **params)) is not None:
                answer = await served.answer(method, **params)
                assert validator.is_current()
                stored[method, uri] = validator, answer
        before = served.library.catalog
        changed = change(random, memory, present)
        await served.library.rescan_source(source)
        after = served.library.catalog
        for (method, uri), (validator, answer) in stored.items():
            params = {"uri": uri} if uri else {}
            if validator.is_current():
                assert await served.answer(method, **params) == answer
            elif not any(uri.startswith(f"skill://{path}/") for path in changed):
                known, now = before.files.get(uri), after.files.get(uri)
                assert known is None or now is None or known.entry is not now.entry, "its skill is unchanged"


def test_response_made_during_a_change_is_not_stored() -> None:
    memory = MemorySource([MemorySkill("a", {"SKILL.md": skill_md("a")})])
    served = Served([memory], VisibilityPolicy(), None)
    anyio.run(served.library.load)
    uri = "skill://a/SKILL.md"
    validator = served.validator(SKILLS_GET, uri=uri)
    memory.put(MemorySkill("b", {"SKILL.md": skill_md("b")}))
    anyio.run(served.library.rescan_source, memory)
    assert validator is not None
    assert not validator.is_current()
    checked = served.validator(SKILLS_GET, uri=uri)
    assert checked is not None
    assert checked.is_current()
    memory.remove("b")
    anyio.run(served.library.rescan_source, memory)
    assert checked.is_current()
    memory.put(MemorySkill("a", {"SKILL.md": skill_md("a", "Another.")}))
    anyio.run(served.library.rescan_source, memory)
    assert not checked.is_current()


def test_list_text_equals_one_made_from_all_skills() -> None:
    memory = MemorySource(
        MemorySkill(path, {"SKILL.md": skill_md(path.rpartition("/")[2])}) for path in PATHS
    )
    served = Served([memory], VisibilityPolicy(), None)
    anyio.run(served.library.load)
    for path in ("azure-z", "b-2", "team/d"):
        memory.put(MemorySkill(path, {"SKILL.md": skill_md(path.rpartition("/")[2])}))
        anyio.run(served.library.rescan_source, memory)
        for options, text in zip(OPTIONS, served.texts, strict=True):
            shown = dict(served.visible.for_models())
            assert text.text() == available_skills(shown, options)
            assert text.text(1900) == available_skills(shown, options, before=1900)


@pytest.mark.anyio
async def test_earlier_catalogs_are_freed() -> None:
    memory = MemorySource([MemorySkill("a", {"SKILL.md": skill_md("a")})])
    source = SortedSource(memory)
    served = Served([source], VisibilityPolicy(), None)
    await served.library.load()
    catalogs: list[ref[Catalog]] = []
    for number in range(10):
        await served.facts()
        uri = "skill://a/SKILL.md"
        validator = served.validator(SKILLS_GET, uri=uri)
        assert validator is not None
        assert validator.is_current()
        catalogs.append(ref(served.library.catalog))
        memory.put(MemorySkill(f"b{number}", {"SKILL.md": skill_md(f"b{number}")}))
        await served.library.rescan_source(source)
        assert validator.is_current()
    await served.facts()
    gc.collect()
    alive = [each for each in catalogs if each() is not None]
    assert len(alive) <= 2, "the catalog from loading is kept, and at most the one before the last change"
