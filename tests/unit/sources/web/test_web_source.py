"""Web sites as sources: verified skills are served, and unchanged ones are not fetched again."""

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from skillwire import Problem
from skillwire.errors import SourceError
from skillwire.protocol.delivery import ArchiveFormat, Delivery
from skillwire.protocol.discovery import Artifact, FileListSkill
from skillwire.sources import Digest, FetchedSource, Rule, Scan, SkillFile, Snapshot
from skillwire.sources.web.address import WebAddress
from skillwire.sources.web.source import WebFetcher
from tests.support.fetched import held, names, told
from tests.support.skills import skill_md
from tests.support.web_site import NEWER, OLDER, Answer, PublishingSite

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("bound")]

REFUNDS: dict[str, bytes] = {"SKILL.md": skill_md("refunds"), "references/policy.md": b"# Policy\n"}


async def scanned(mirror: WebFetcher) -> Scan:
    return await FetchedSource(mirror, label="site").scan()


def evil_tar(*members: tuple[str, bytes]) -> bytes:
    """Return a `.tar.gz` with arbitrary names."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def archived(site: PublishingSite, name: str, content: bytes) -> Artifact:
    """Show `content` as the archive of a skill; its digest is right."""
    site.show(f"{NEWER}{name}.tar.gz", content)
    return Artifact(name, Delivery.ARCHIVE, "Does one thing.", f"{name}.tar.gz", Digest.of(content))


# Reading


@pytest.mark.parametrize("form", ArchiveFormat)
async def test_skills_come_as_file_or_archive(
    site: PublishingSite, mirror: WebFetcher, form: ArchiveFormat
) -> None:
    hello = {"SKILL.md": skill_md("hello")}
    site.index(site.offer("refunds", REFUNDS, form=form), site.offer("hello", hello))
    copy = await mirror.fetch()
    below = {"refunds": REFUNDS, "hello": hello}
    assert held(copy) == {
        f"{name}/{path}": each for name, files in below.items() for path, each in files.items()
    }
    assert copy.problems == ()


async def test_skills_are_served_with_digests_of_their_files(
    site: PublishingSite, mirror: WebFetcher
) -> None:
    site.index(site.offer("refunds", REFUNDS, form=ArchiveFormat.TAR_GZ))
    (entry,) = (await scanned(mirror)).entries
    assert entry.uri == "skill://refunds/SKILL.md"
    digests = {file.path: file.digest for file in entry.files if isinstance(file, SkillFile)}
    assert digests == {path: Digest.of(content) for path, content in REFUNDS.items()}


@pytest.mark.parametrize(
    "url", ["{}/hello/SKILL.md", "SKILL.md", "../x/SKILL.md", "/files/hello.md?version=2", "./a%20b.md"]
)
async def test_download_address_is_relative_or_absolute(
    site: PublishingSite, mirror: WebFetcher, url: str
) -> None:
    address = url.format(site.origin)
    artifact = site.offer("hello", {"SKILL.md": skill_md("hello")})
    where = WebAddress.parse(f"{site.origin}{NEWER}index.json").join(address)
    site.pages = {where.path: site.pages[f"{NEWER}hello/SKILL.md"]}
    site.index(replace(artifact, url=address))
    assert names(await mirror.fetch()) == ["hello"]


@pytest.mark.parametrize("path", ["", "/", NEWER.rstrip("/"), NEWER, f"{NEWER}index.json"])
async def test_every_form_of_address_uses_the_same_cache(
    site: PublishingSite, tmp_path: Path, path: str
) -> None:
    site.index(site.offer("refunds", REFUNDS, form=ArchiveFormat.ZIP))
    copy = await WebFetcher(site.origin + path, tmp_path).fetch()
    assert copy.root.is_relative_to(tmp_path / "publishers")
    assert WebFetcher(site.origin.replace("http", "HTTP"), tmp_path).last() == copy


async def test_site_below_a_path_works(site: PublishingSite, tmp_path: Path) -> None:
    site.index(site.offer("refunds", REFUNDS, form=ArchiveFormat.ZIP))
    site.pages = {f"/project{path}": answer for path, answer in site.pages.items()}
    assert names(await WebFetcher(f"{site.origin}/project{NEWER}", tmp_path).fetch()) == ["refunds"]


@pytest.mark.parametrize("path", ["", NEWER, OLDER, f"{OLDER}index.json"])
async def test_older_index_is_read_if_there_is_no_newer(
    site: PublishingSite, tmp_path: Path, path: str
) -> None:
    site.index(site.offer_loose("refunds", REFUNDS), at=OLDER)
    copy = await WebFetcher(site.origin + path, tmp_path).fetch()
    assert held(copy) == {f"refunds/{path}": content for path, content in REFUNDS.items()}
    assert copy.problems == ()


async def test_older_index_is_not_requested_if_newer_exists(site: PublishingSite, mirror: WebFetcher) -> None:
    site.index(site.offer_loose("old", {"SKILL.md": skill_md("old")}), at=OLDER)
    site.index(site.offer("new", {"SKILL.md": skill_md("new")}))
    assert names(await mirror.fetch()) == ["new"]
    assert not any(request.path.startswith(OLDER) for request in site.log)


# Fetching again


async def test_unchanged_index_causes_no_download(site: PublishingSite, mirror: WebFetcher) -> None:
    site.index(site.offer("refunds", REFUNDS, form=ArchiveFormat.TAR_GZ))
    first = await mirror.fetch()
    site.forget()
    assert await mirror.fetch() == first
    assert [(request.path, request.status) for request in site.log] == [(f"{NEWER}index.json", 304)]


async def test_download_is_not_repeated_without_etags(tmp_path: Path) -> None:
    with PublishingSite(etags=False) as site:
        mirror = WebFetcher(site.origin, tmp_path)
        site.index(site.offer("refunds", REFUNDS, form=ArchiveFormat.TAR_GZ))
        first = await mirror.fetch()
        site.forget()
        assert await mirror.fetch() == first
        assert site.asked() == []


async def test_only_the_changed_skill_is_fetched(site: PublishingSite, mirror: WebFetcher) -> None:
    hello = site.offer("hello", {"SKILL.md": skill_md("hello")})
    site.index(site.offer("refunds", REFUNDS, form=ArchiveFormat.TAR_GZ), hello)
    first = await mirror.fetch()
    site.forget()
    changed = {"SKILL.md": skill_md("hello", body="# Other\n")}
    site.index(site.offer("refunds", REFUNDS, form=ArchiveFormat.TAR_GZ), site.offer("hello", changed))
    second = await mirror.fetch()
    assert site.asked() == [f"{NEWER}hello/SKILL.md"]
    assert second.version != first.version
    assert held(second)["hello/SKILL.md"] == changed["SKILL.md"]
    assert held(first)["hello/SKILL.md"] != changed["SKILL.md"], "a copy is never written to"


async def test_only_changed_loose_file_is_sent_again(site: PublishingSite, mirror: WebFetcher) -> None:
    site.index(site.offer_loose("refunds", REFUNDS), at=OLDER)
    await mirror.fetch()
    site.forget()
    site.offer_loose("refunds", {"references/policy.md": b"# New\n"})
    copy = await mirror.fetch()
    answers = {request.path: request.status for request in site.log if "refunds" in request.path}
    assert answers == {f"{OLDER}refunds/SKILL.md": 304, f"{OLDER}refunds/references/policy.md": 200}
    assert held(copy) == {"refunds/SKILL.md": REFUNDS["SKILL.md"], "refunds/references/policy.md": b"# New\n"}


async def test_removed_skill_vanishes_and_old_snapshots_are_pruned(
    site: PublishingSite, mirror: WebFetcher
) -> None:
    refunds = site.offer("refunds", REFUNDS, form=ArchiveFormat.TAR_GZ)
    copies: list[Snapshot] = []
    for number in range(4):
        name = f"skill-{number}"
        site.index(refunds, site.offer(name, {"SKILL.md": skill_md(name)}))
        copies.append(await mirror.fetch())
        assert names(copies[-1]) == ["refunds", name]
    assert [copy.root.is_dir() for copy in copies] == [False, False, True, True]
    shelf = copies[-1].root.parents[1]
    assert len(list((shelf / "skills").iterdir())) == 2
    assert list((shelf / "staging").iterdir()) == []


async def test_last_good_snapshot_is_served_after_offline_restart(
    site: PublishingSite, mirror: WebFetcher, tmp_path: Path
) -> None:
    missing = replace(site.offer("gone", {"SKILL.md": skill_md("gone")}), url="nowhere")
    site.index(site.offer("refunds", REFUNDS, form=ArchiveFormat.TAR_GZ), missing)
    copy = await mirror.fetch()
    site.go_offline()
    again = WebFetcher(site.origin, tmp_path)
    assert again.last() == copy
    scan = await scanned(again)
    assert [entry.name for entry in scan.entries] == ["refunds"]
    assert {problem.rule for problem in scan.problems} == {Rule.SOURCE_STALE, Rule.SOURCE_PARTIAL}


async def test_site_that_was_never_reached_is_an_error(site: PublishingSite, mirror: WebFetcher) -> None:
    site.go_offline()
    assert mirror.last() is None
    with pytest.raises(SourceError, match=r"index\.json` cannot be fetched"):
        await mirror.fetch()


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b'{"skills": 7}', b"\xff"])
async def test_damaged_cache_is_refilled(
    site: PublishingSite, mirror: WebFetcher, tmp_path: Path, damage: bytes
) -> None:
    site.index(site.offer("refunds", REFUNDS, form=ArchiveFormat.TAR_GZ))
    copy = await mirror.fetch()
    (copy.root.parents[1] / "state.json").write_bytes(damage)
    assert mirror.last() is None
    assert await mirror.fetch() == copy
    (copy.root.parents[1] / "index.json").write_bytes(damage)
    assert await mirror.fetch() == copy
    site.forget()
    await mirror.fetch()
    assert [request.status for request in site.log] == [304]


# What is not as it should be


async def test_wrong_digest_is_refused_and_others_are_served(
    site: PublishingSite, mirror: WebFetcher
) -> None:
    refunds = site.offer("refunds", REFUNDS, form=ArchiveFormat.TAR_GZ)
    site.index(refunds, site.offer("hello", {"SKILL.md": skill_md("hello")}))
    site.show(f"{NEWER}hello/SKILL.md", skill_md("hello", body="Do evil.\n"))
    copy = await mirror.fetch()
    assert names(copy) == ["refunds"]
    assert "it is left out" in told(copy)["hello/SKILL.md"]
    assert "was listed as sha256:" in told(copy)["hello/SKILL.md"]


async def test_failing_download_keeps_last_good_version(site: PublishingSite, mirror: WebFetcher) -> None:
    hello = {"SKILL.md": skill_md("hello")}
    site.index(site.offer("hello", hello))
    await mirror.fetch()
    new = site.offer("hello", {"SKILL.md": skill_md("hello", body="# New\n")})
    site.index(new)
    page = site.pages.pop(f"{NEWER}hello/SKILL.md")
    copy = await mirror.fetch()
    assert held(copy) == {"hello/SKILL.md": hello["SKILL.md"]}
    assert "it is served as it was before" in told(copy)["hello/SKILL.md"]
    assert "answers 404" in told(copy)["hello/SKILL.md"]
    site.pages[f"{NEWER}hello/SKILL.md"] = page
    copy = await mirror.fetch()  # though the index did not change
    assert (held(copy), copy.problems) == ({"hello/SKILL.md": page.content}, ())


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([("SKILL.md", skill_md("evil")), ("../escaped.md", b"x")], r"contains `../escaped.md`"),
        ([("SKILL.md", skill_md("evil")), ("/etc/escaped.md", b"x")], r"contains `/etc/escaped.md`"),
        ([("SKILL.md", skill_md("evil")), ("zeros", bytes(17 * 1024 * 1024))], "16,777,216 bytes"),
        ([("SKILL.md", skill_md("evil")), *((f"{n}", b"") for n in range(600))], "512 files"),
        ([("nested/SKILL.md", skill_md("evil"))], "no `SKILL.md` at its root"),
        ([("SKILL.md", skill_md("refunds"))], "has the name `refunds`, the index says `evil`"),
        ([("SKILL.md", b"---\nname: evil\n---\n")], "the skill has no description"),
    ],
    ids=["traversal", "absolute", "bomb", "many", "nested", "other-name", "broken"],
)
async def test_unusable_archive_is_downloaded_once_and_reported(
    site: PublishingSite, mirror: WebFetcher, members: list[tuple[str, bytes]], reason: str
) -> None:
    site.index(
        archived(site, "evil", evil_tar(*members)), site.offer("refunds", REFUNDS, form=ArchiveFormat.ZIP)
    )
    copy = await mirror.fetch()
    assert names(copy) == ["refunds"]
    assert "evil.tar.gz`" in told(copy)["evil/SKILL.md"]
    assert reason in told(copy)["evil/SKILL.md"]
    assert not [*copy.root.parents[3].rglob("*escaped*")]
    site.forget()
    assert await mirror.fetch() == copy
    assert site.asked() == [], "it would be no better the next time"


async def test_non_archive_is_refused(site: PublishingSite, mirror: WebFetcher) -> None:
    odd = replace(archived(site, "odd", b"x"), url="odd.rar")
    site.show(f"{NEWER}odd.rar", b"x")
    site.index(odd, archived(site, "text", b"text"))
    copy = await mirror.fetch()
    assert "neither a `.tar.gz` nor a `.zip` file" in told(copy)["odd/SKILL.md"]
    assert "is not a tar.gz file" in told(copy)["text/SKILL.md"]


async def test_content_type_decides_archive_format(site: PublishingSite, mirror: WebFetcher) -> None:
    artifact = site.offer("refunds", REFUNDS, form=ArchiveFormat.ZIP)
    content = site.pages[f"{NEWER}refunds.zip"].content
    site.show("/download", content, Content_Type="application/zip; x=y")
    site.index(replace(artifact, url="/download"))
    assert names(await mirror.fetch()) == ["refunds"]


async def test_name_other_than_in_frontmatter_is_left_out(site: PublishingSite, mirror: WebFetcher) -> None:
    wrong = site.offer("promised", {"SKILL.md": skill_md("delivered")})
    site.index(wrong, site.offer("hello", {"SKILL.md": skill_md("hello")}))
    copy = await mirror.fetch()
    assert names(copy) == ["hello"]
    assert "has the name `delivered`, the index says `promised`" in told(copy)["promised/SKILL.md"]


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "a\\b", "A", ""])
async def test_name_that_is_a_path_is_never_requested(
    site: PublishingSite, mirror: WebFetcher, name: str
) -> None:
    hello = site.offer("hello", {"SKILL.md": skill_md("hello")})
    site.index(replace(hello, name=name, url="bad/SKILL.md"), hello)
    copy = await mirror.fetch()
    assert names(copy) == ["hello"]
    assert [(problem.path, problem.field) for problem in copy.problems] == [("index.json", "skills[0].name")]
    assert site.asked() == [f"{NEWER}hello/SKILL.md"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("references/nul.md", "has the name of a Windows device"),
        ("notes.", "ends in a dot or a space"),
        ("references /x.md", "ends in a dot or a space"),
        ("C:/x.md", "contains a colon"),
        ("x" * 256, "has a name of more than 255 bytes"),
        ("x/" * 64 + "x", "is longer than 1,024 bytes or 64 names"),
        ("/etc/x.md", "is an absolute path"),
        ("../x.md", "has `..` in its path"),
    ],
)
async def test_unportable_loose_file_name_is_refused(
    site: PublishingSite, mirror: WebFetcher, path: str, reason: str
) -> None:
    evil = FileListSkill("evil", "Does one thing.", ("SKILL.md", path))
    site.index(evil, site.offer_loose("refunds", REFUNDS), at=OLDER)
    copy = await mirror.fetch()
    assert names(copy) == ["refunds"]
    (problem,) = copy.problems
    assert (problem.path, problem.field) == ("index.json", "skills[0].files[1]")
    assert reason in problem.message
    assert not any("evil" in request.path for request in site.log)


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'{"skills": 1}'])
async def test_invalid_index_is_an_error_with_its_address(
    site: PublishingSite, mirror: WebFetcher, content: bytes
) -> None:
    site.show(f"{NEWER}index.json", content)
    with pytest.raises(SourceError, match=r"agent-skills/index\.json` is no"):
        await mirror.fetch()


async def test_site_without_index_names_both_addresses(site: PublishingSite, mirror: WebFetcher) -> None:
    with pytest.raises(
        SourceError, match=r"agent-skills/index\.json` answers 404, and .*/skills/index\.json`"
    ):
        await mirror.fetch()


async def test_server_error_does_not_fall_back_to_older_index(
    site: PublishingSite, mirror: WebFetcher
) -> None:
    site.pages[f"{NEWER}index.json"] = Answer(status=503)
    with pytest.raises(SourceError, match="answers 503"):
        await mirror.fetch()
    assert [request.path for request in site.log] == [f"{NEWER}index.json"]


async def test_problems_of_index_and_skills_are_both_reported(
    site: PublishingSite, mirror: WebFetcher
) -> None:
    hello = site.offer("hello", {"SKILL.md": skill_md("hello")})
    site.index(replace(hello, name="Bad"), replace(hello, url="gone", name="gone"), hello)
    problems: list[Problem] = list((await scanned(mirror)).problems)
    assert [problem.path for problem in problems] == ["index.json", "gone/SKILL.md"]
    assert all(problem.rule is Rule.SOURCE_PARTIAL for problem in problems)
