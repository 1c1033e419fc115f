"""The contract of `Source`, tested on every source with the same skills."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest

from skillwire import FolderSource, Library, MemorySource, ServerSource, Skill, Skills, Source, State
from skillwire.authoring.source import CodeSource
from skillwire.errors import SourceError
from skillwire.host import Trust
from skillwire.host.approvals.approval_store import ApprovalStore
from skillwire.host.bridge import ApprovalGate
from skillwire.host.hosted_skill import HostedSkill
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.packing import pack
from skillwire.registry.source import RegistrySource
from skillwire.server import skills_server
from skillwire.sources import FetchedSource, MemorySkill, PrefixedSource, Severity, SkillFile
from skillwire.sources.archive import ArchiveFetcher
from skillwire.sources.base import WrappedSource
from skillwire.sources.git.address import Repository
from skillwire.sources.git.source import GitFetcher
from skillwire.sources.placeholder import DeferredSource
from skillwire.sources.web.source import WebFetcher
from tests.support.git_server import Origin
from tests.support.links import Wire
from tests.support.registries import push_now
from tests.support.skills import skill_md, write
from tests.support.web_site import PublishingSite

pytestmark = pytest.mark.anyio

SKILLS: dict[str, dict[str, bytes]] = {
    "acme/refunds": {
        "SKILL.md": skill_md("refunds"),
        "references/policy.md": b"# Policy\r\n",
        "assets/logo.png": b"\x89PNG\r\n\x1a\n\0",
        "empty.txt": b"",
    },
    "hello": {"SKILL.md": b"\xef\xbb\xbf" + skill_md("hello")},
    "no-name": {"SKILL.md": b"---\ndescription: x\n---\n"},
    "Bad Name": {"SKILL.md": b"---\nname: Bad Name\ndescription: x\n---\n"},
    "other-folder": {"SKILL.md": skill_md("other-name")},
}


BROKEN = frozenset({"no-name", "Bad Name"})
OTHER = "other-folder/other-name"


@dataclass(frozen=True)
class Made:
    """A source, and the skills that were put into it."""

    source: Source
    skills: Mapping[str, Mapping[str, bytes]] = field(
        default_factory=lambda: {
            OTHER if path == "other-folder" else path: files
            for path, files in SKILLS.items()
            if path not in BROKEN
        }
    )
    """The good skills, by the paths that they should have."""
    broken: frozenset[str] = BROKEN

    def at(self, path: str) -> Mapping[str, bytes]:
        return self.skills[path]


def tree(root: Path) -> Path:
    for path, files in SKILLS.items():
        write(root / path, dict(files))
    return root


def directory(tmp_path: Path, _stack: ExitStack) -> Made:
    return Made(FolderSource(tree(tmp_path / "root")))


def memory(_tmp_path: Path, _stack: ExitStack) -> Made:
    return Made(MemorySource(MemorySkill(path, files) for path, files in SKILLS.items()))


def code(_tmp_path: Path, _stack: ExitStack) -> Made:
    """Skills in code are checked when they are created, so none of them is broken."""
    skills = {path: SKILLS[path] for path in ("acme/refunds", "hello")}
    values = Skills()
    for path, files in skills.items():
        skill = Skill(path.rpartition("/")[2], files["SKILL.md"]).with_path(path)
        for name, content in files.items():
            skill = skill if name == "SKILL.md" else skill.with_reference(name, "text/plain", content)
        values = values.add(skill)
    return Made(CodeSource(values), skills, broken=frozenset())


def prefixed(tmp_path: Path, _stack: ExitStack) -> Made:
    inner = Made(FolderSource(tree(tmp_path / "root")))
    skills = {f"acme/team/{path}": files for path, files in inner.skills.items()}
    return Made(PrefixedSource(inner.source, "acme/team"), skills)


def wrapped(tmp_path: Path, _stack: ExitStack) -> Made:
    return Made(WrappedSource(FolderSource(tree(tmp_path / "root"))))


def archive(tmp_path: Path, _stack: ExitStack) -> Made:
    files = {f"{path}/{name}": content for path, held in SKILLS.items() for name, content in held.items()}
    file = tmp_path / "skills.zip"
    file.write_bytes(pack(files, ArchiveFormat.ZIP))
    return Made(FetchedSource(ArchiveFetcher(file, tmp_path / "cache"), label="archive"))


def repository(tmp_path: Path, _stack: ExitStack) -> Made:
    origin = Origin(tmp_path / "origin")
    tree(origin.folder)
    origin.commit({})
    address = Repository.parse(f"git+file://{origin.folder}")
    return Made(FetchedSource(GitFetcher(address, tmp_path / "cache"), label="repository"))


def publisher(tmp_path: Path, stack: ExitStack) -> Made:
    """The skills of a web site have no paths, and an index cannot list a skill without a name."""
    skills = {"refunds": SKILLS["acme/refunds"], "hello": SKILLS["hello"]}
    site = stack.enter_context(PublishingSite())
    site.index(*(site.offer(name, files, form=ArchiveFormat.TAR_GZ) for name, files in skills.items()))
    mirror = WebFetcher(site.origin, tmp_path / "cache")
    return Made(FetchedSource(mirror, label="publisher"), skills, broken=frozenset())


def deferred(tmp_path: Path, _stack: ExitStack) -> Made:
    return Made(DeferredSource("root", "./root", lambda: FolderSource(tree(tmp_path / "root"), label="root")))


def server(tmp_path: Path, _stack: ExitStack) -> Made:
    """A server does not report its broken skills."""
    skills = {path: SKILLS[path] for path in ("acme/refunds", "hello")}
    for path, files in skills.items():
        write(tmp_path / "root" / path, dict(files))
    wire = Wire(skills_server(Library([FolderSource(tmp_path / "root")])))
    published = {f"upstream/{path}": files for path, files in skills.items()}
    return Made(ServerSource(wire.link(), trusted=True), published, broken=frozenset())


def gated(tmp_path: Path, stack: ExitStack) -> Made:
    """What is approved passes as it is. What is not has a warning more: `tests/unit/host/test_bridge.py`."""
    made = server(tmp_path, stack)
    assert isinstance(made.source, ServerSource)
    keeping = ApprovalStore(stack.enter_context(State.open(tmp_path / "state")))
    anyio.run(_approve_all, made.source, keeping)
    return replace(made, source=ApprovalGate(made.source, keeping, str))


def registry(tmp_path: Path, _stack: ExitStack) -> Made:
    """A registry has no broken skills, and leaves warnings to those who push."""
    skills = {path: SKILLS[path] for path in ("acme/refunds", "hello")}
    for path, files in skills.items():
        write(tmp_path / "root" / path, dict(files))
    push_now(tmp_path / "root", tmp_path / "registry.db")
    source = RegistrySource(f"registry+sqlite://{tmp_path}/registry.db")
    return Made(source, skills, broken=frozenset())


async def _approve_all(source: ServerSource, keeping: ApprovalStore) -> None:
    await keeping.bind(source.label, "somewhere")
    for entry in (await source.scan()).entries:
        remote = source.claim(entry)
        assert remote is not None
        await keeping.approve(HostedSkill(entry, remote))


MAKERS: dict[str, Callable[[Path, ExitStack], Made]] = {
    "directory": directory,
    "memory": memory,
    "code": code,
    "prefixed": prefixed,
    "wrapped": wrapped,
    "archive": archive,
    "repository": repository,
    "publisher": publisher,
    "deferred": deferred,
    "server": server,
    "gated": gated,
    "registry": registry,
}


@pytest.fixture(params=MAKERS)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Made]:
    with ExitStack() as stack:
        yield MAKERS[request.param](tmp_path, stack)


@pytest.fixture
def source(made: Made) -> Source:
    return made.source


async def test_good_skills_are_listed_under_their_paths(made: Made) -> None:
    scan = await made.source.scan()
    assert sorted(entry.path for entry in scan.entries) == sorted(made.skills)


async def test_only_servers_are_foreign_with_decided_trust(made: Made) -> None:
    expected = (False, Trust.OWN)
    if isinstance(made.source, ServerSource):
        expected = (True, Trust.OWN)  # made with `trusted`: still somebody else's words
    elif isinstance(made.source, ApprovalGate):
        expected = (True, Trust.APPROVED)
    found = {(entry.origin.foreign, entry.trust) for entry in (await made.source.scan()).entries}
    assert found == {expected}


async def test_each_bad_skill_is_a_problem_with_path_and_hint(made: Made) -> None:
    scan = await made.source.scan()
    errors = [problem for problem in scan.problems if problem.severity is Severity.ERROR]
    assert {problem.path for problem in errors} == {f"{path}/SKILL.md" for path in made.broken}
    assert all(problem.hint for problem in errors)


async def test_warnings_stay_with_the_served_skill(made: Made) -> None:
    scan = await made.source.scan()
    for entry in scan.entries:
        expected = [Severity.WARNING] if entry.name == "other-name" else []
        assert [problem.severity for problem in entry.problems] == expected


async def test_every_file_reads_with_the_listed_digest(made: Made) -> None:
    source = made.source
    scan = await source.scan()
    for entry in scan.entries:
        written = made.at(entry.path)
        assert {file.path for file in entry.files} == set(written)
        assert entry.files[0].path == "SKILL.md"
        for file in entry.files:
            content = await source.read(entry, file)
            assert content == written[file.path]
            assert isinstance(file, SkillFile)
            assert file.size == len(content)
            assert file.digest.text == "sha256:" + hashlib.sha256(content).hexdigest()


async def test_directories_are_listed_at_every_level(source: Source) -> None:
    for entry in (await source.scan()).entries:
        folders = {parent for file in entry.files for parent in Path(file.path).parents if parent != Path()}
        assert {folder.as_posix() for folder in folders} <= set(entry.directories)
        assert list(entry.directories) == sorted(entry.directories)
        if entry.name == "refunds":  # it has an empty folder, too, wherever the source can hold one
            assert entry.directories == ("assets", "references")


async def test_two_scans_of_the_same_skills_are_equal(source: Source) -> None:
    assert await source.scan() == await source.scan()


async def test_unchanged_skill_is_the_same_object_in_next_scan(source: Source) -> None:
    before = await source.scan()
    after = await source.rescan()
    assert all(old is new for old, new in zip(before.entries, after.entries, strict=True))


async def test_rescan_of_one_skill_keeps_the_others(source: Source) -> None:
    scan = await source.scan()
    assert await source.rescan(frozenset({scan.entries[0].origin.location})) == scan


async def test_reading_a_missing_file_raises_source_error(source: Source) -> None:
    scan = await source.scan()
    file = scan.entries[0].files[0]
    with pytest.raises(SourceError):
        await source.read(scan.entries[0], replace(file, path="gone.md"))


async def test_origins_name_the_source_and_problems_no_absolute_path(source: Source, tmp_path: Path) -> None:
    scan = await source.scan()
    assert {entry.origin.source for entry in scan.entries} == {source.label}
    assert not any(str(tmp_path) in str(problem.to_json()) for problem in scan.problems)
