"""What must not be published is refused with a reason, and nothing of the push is stored."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from skillwire.core.record import Digest, SkillFile
from skillwire.errors import InvalidValueError, SourceError
from skillwire.registry.address import RegistryAddress
from skillwire.registry.manifest import Manifest
from skillwire.registry.publication import Published
from skillwire.registry.release import MAX_FILE_BYTES, Release
from skillwire.registry.version import version_of
from tests.support.registries import PUBLISHER, counts, push_now, store, write_skills

CONTENT = b"---\nname: refunds\ndescription: x\n---\n"
NOTHING = {"skill": 0, "version": 0, "blob": 0, "version_blob": 0, "pointer": 0, "change": 0, "audit": 0}


def file(path: str, content: bytes = b"x") -> SkillFile:
    return SkillFile(path, "text/plain", Digest.of(content), len(content))


def manifest(*paths: str, directories: tuple[str, ...] = (), **frontmatter: Any) -> Manifest:
    fields: dict[str, Any] = {"name": "refunds", "description": "x", **frontmatter}
    files = (file("SKILL.md", CONTENT), *(file(path) for path in paths))
    return Manifest(fields, files, directories)


def publish(registry: Path, *releases: Release) -> Published:
    async def read(_release: Release, digest: Digest) -> bytes:
        return next(each for each in (CONTENT, b"x") if Digest.of(each) == digest)

    async def run() -> Published:
        opened = store(registry)
        await opened.create()
        return await opened.publish(releases, channel="stable", publisher=PUBLISHER, read=read)

    return anyio.run(run)


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (("../outside.md",), "is empty or points elsewhere"),
        (("a/../../b.md",), "is empty or points elsewhere"),
        (("/etc/passwd",), "is empty or points elsewhere"),
        (("a\\b.md",), "contains a path separator"),
        (("a\0b.md",), "contains a control character"),
        (("a.md", "a.md"), "has a path twice"),
        (("a.md", "A.md"), "some hosts cannot distinguish it"),
        (("e\u0301.md", "\xe9.md"), "some hosts cannot distinguish it"),
        (("a", "a/b.md"), "the path is also a folder"),
    ],
)
def test_bad_path_in_a_skill_is_refused(paths: tuple[str, ...], told: str) -> None:
    with pytest.raises(InvalidValueError, match=told):
        Release("refunds", "1.0.0", manifest(*paths))


@pytest.mark.parametrize("folder", ["..", "a/../b", ""])
def test_bad_folder_in_a_skill_is_refused(folder: str) -> None:
    with pytest.raises(InvalidValueError, match="points elsewhere"):
        Release("refunds", "1.0.0", manifest(directories=(folder,)))


@pytest.mark.parametrize(
    "path", ["../refunds", "a//refunds", "/refunds", "_v/1.0.0/refunds", "a/" * 600 + "refunds"]
)
def test_bad_path_of_a_skill_is_refused(path: str) -> None:
    with pytest.raises(InvalidValueError):
        Release(path, "1.0.0", manifest())


def test_path_that_does_not_end_in_the_name_is_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"ends in `/refunds/SKILL\.md`"):
        Release("orders", "1.0.0", manifest())


@pytest.mark.parametrize("version", ["", "1/2", "..", ".1", "1@2", "1 2", "x" * 65, "1\n"])
def test_bad_version_is_refused(version: str) -> None:
    with pytest.raises(InvalidValueError, match="the version"):
        Release("refunds", version, manifest())


@pytest.mark.parametrize("value", [2**70, float("inf"), float("nan"), "\ud800"])
def test_frontmatter_that_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(InvalidValueError, match="cannot hold exactly"):
        Release("refunds", "1.0.0", manifest(number=value))


def test_oversized_file_and_manifest_are_refused() -> None:
    large = replace(file("large.bin"), size=MAX_FILE_BYTES + 1)
    with pytest.raises(InvalidValueError, match="is larger than"):
        Release("refunds", "1.0.0", replace(manifest(), files=(*manifest().files, large)))
    with pytest.raises(InvalidValueError, match="needs a manifest of more than"):
        Release("refunds", "1.0.0", manifest(text="x" * 9_000_000))


def test_clashing_paths_in_one_push_store_nothing(tmp_path: Path) -> None:
    registry = tmp_path / "registry.db"
    releases = [
        Release(path, "1.0.0", manifest()) for path in ("acme/refunds", "ACME/refunds", "other/refunds")
    ]
    published = publish(registry, *releases)
    assert [each.path for each in published.refused] == ["acme/refunds"]
    assert "clashes with `ACME/refunds`" in published.refused[0].reason
    assert (published.revision, counts(registry)) == (0, NOTHING)


def test_path_that_clashes_with_a_published_one_is_refused(tmp_path: Path) -> None:
    registry = tmp_path / "registry.db"
    publish(registry, Release("acme/refunds", "1.0.0", manifest()))
    before = counts(registry)
    published = publish(
        registry, Release("Acme/refunds", "1.0.0", manifest()), Release("refunds", "1", manifest())
    )
    assert [(each.path, "`acme/refunds`" in each.reason) for each in published.refused] == [
        ("Acme/refunds", True)
    ]
    assert counts(registry) == before


def test_refused_version_names_the_skill_and_keeps_the_others_out(tmp_path: Path) -> None:
    registry, root = tmp_path / "registry.db", tmp_path / "skills"
    push_now(write_skills(root, {"refunds": "one", "orders": "one"}), registry, "1.0.0")
    before = counts(registry)
    write_skills(root, {"refunds": "two", "new": "one"})
    published = push_now(root, registry, "1.0.0")
    assert published.pushed == ()
    assert [each.path for each in published.refused] == ["refunds"]
    assert "version `1.0.0` is published already" in published.refused[0].reason
    assert counts(registry) == before


def test_file_that_changes_during_the_push_stores_nothing(tmp_path: Path) -> None:
    registry = tmp_path / "registry.db"

    async def read(_release: Release, _digest: Digest) -> bytes:
        raise SourceError("it changed")

    async def run() -> None:
        opened = store(registry)
        await opened.create()
        release = Release("refunds", "1.0.0", manifest("a.md"))
        with pytest.raises(SourceError, match="it changed"):
            await opened.publish([release], channel="stable", publisher=PUBLISHER, read=read)

    anyio.run(run)
    assert counts(registry) == NOTHING


def test_version_comes_from_block_then_metadata_then_content() -> None:
    content = Digest.from_raw(hashlib.sha256(b"x").digest())
    both: dict[str, Any] = {"x-skillwire": {"version": "1.4.0"}, "metadata": {"version": "9"}}
    assert version_of(both, content) == "1.4.0"
    assert version_of({"x-personal-mcp": {"version": "1.5.0"}}, content) == "1.5.0"
    assert version_of({"metadata": {"version": "2.0"}}, content) == "2.0"
    assert version_of({"metadata": "x"}, content) == f"0.0.0-{content.raw.hex()[:12]}"
    with pytest.raises(InvalidValueError, match=r"is not text; write `version: \"1.1\"`"):
        version_of({"metadata": {"version": 1.10}}, content)


def test_digest_depends_on_content_alone() -> None:
    one = manifest("a.md", "b/c.md", directories=("b", "empty"))
    assert one.digest == replace(one, frontmatter={"name": "other"}, directories=("empty",)).digest
    runnable = tuple(replace(each, executable=each.path == "a.md") for each in one.files)
    different = (replace(one, files=runnable), replace(one, directories=("b",)), manifest("a.md", "b/d.md"))
    assert len({one.digest, *(each.digest for each in different)}) == 4


@pytest.mark.parametrize(
    "text",
    [
        "registry:x",
        "registry:/x",
        "registry:#Bad Channel",
        "registry:#",
        "registry+sqlite:",
        "registry+sqlite:x.db",
        "registry+sqlite://x.db",
        "registry+sqlite:///",
        "registry+sqlite:///x/",
        "registry+sqlite:///x?mode=ro",
        "registry+sqlite:///x%00y",
        "registry+oracle://host/name",
    ],
)
def test_wrong_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        RegistryAddress.parse(text)


def test_address_is_shown_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLWIRE_DATA_DIR", str(tmp_path))
    own = RegistryAddress.parse("registry:")
    assert (own.path, own.channel, str(own)) == (tmp_path / "registry.db", "stable", "registry:")
    for text in (
        "registry:#canary",
        "registry+sqlite:///srv/my%20skills.db#canary",
        "registry+sqlite:///x.db",
    ):
        assert str(RegistryAddress.parse(text)) == text
    assert RegistryAddress.parse("registry+sqlite:///srv/a%23b.db").path == Path("/srv/a#b.db")


def test_address_with_a_password_is_never_shown() -> None:
    with pytest.raises(InvalidValueError) as caught:
        RegistryAddress.parse("registry+postgresql://user:secret@host/name?password=secret")
    assert "secret" not in str(caught.value)
