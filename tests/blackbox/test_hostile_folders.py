"""Folders, archives and web sites that attack: each trap is reported, and the good skill is served."""

import hashlib
import io
import json
import os
import stat
import tarfile
import threading
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.peers import MODERN, StdioPeer
from tests.blackbox.product import IGNORE_FILE, NO_CONFIG, PROBLEMS, Person
from tests.blackbox.skills import skill_md, write, write_skill

GOOD = "skill://good/SKILL.md"
SECRET = "the secret of this machine"


def frontmatter(text: str) -> Callable[[Path], object]:
    return lambda root: write(root, {"bad/SKILL.md": f"---\nname: bad\ndescription: x\n{text}\n---\n"})


def pipe(root: Path) -> None:
    (root / "bad").mkdir(parents=True)
    os.mkfifo(root / "bad/SKILL.md")


def link(target: str) -> Callable[[Path], object]:
    def make(root: Path) -> None:
        write(root, {"bad/a.md": "x"})
        (root / "bad/SKILL.md").symlink_to(target)

    return make


def sparse(root: Path) -> None:
    write_skill(root, "bad")
    with (root / "bad/huge.bin").open("wb") as file:
        file.truncate(1 << 40)


ALIASES = "a0: &a0 x\n" + "\n".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]" for n in range(64))
TRAPS: dict[str, Callable[[Path], object]] = {
    "pipe": pipe,
    "link-out": link("/etc/passwd"),
    "link-loop": link("SKILL.md"),
    "device": link("/dev/zero"),
    "yaml-brackets": frontmatter("deep: " + "[" * 10_000),
    "yaml-levels": frontmatter("".join(" " * n + "a:\n" for n in range(300))),
    "yaml-aliases": frontmatter(ALIASES),
    "yaml-tag": frontmatter("x: !!python/object/apply:os.system [id]"),
    "yaml-twice": frontmatter("license: a\nlicense: b"),
    "yaml-key": frontmatter("1: x"),
    "yaml-surrogate": frontmatter('x: "\\ud83d"'),
    "yaml-long": frontmatter("\n".join(f"k{n}: v" for n in range(200_000))),
    "no-end": lambda root: write(root, {"bad/SKILL.md": b"---\n" + b"a: b\n" * 100_000}),
    "nul": lambda root: write(root, {"bad/SKILL.md": b"---\nname: bad\0\ndescription: x\n---\n"}),
    "utf-16": lambda root: write(root, {"bad/SKILL.md": skill_md("bad").decode().encode("utf-16")}),
    "name-path": lambda root: write(root, {"bad/SKILL.md": skill_md("../../etc")}),
    "name-escape": lambda root: write(root, {"bad/SKILL.md": skill_md('"a\\e[31m"')}),
    "terabyte": sparse,
    "deep": lambda root: write_skill(root, "bad", {"/".join("d" * 100) + "/x.md": "x"}),
}


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory, somebody: Person) -> dict[str, Any]:
    """What a server says of a folder with every trap in it."""
    root = tmp_path_factory.mktemp("traps")
    outside = write(
        tmp_path_factory.mktemp("outside"), {"secret.md": SECRET, "inner/SKILL.md": skill_md("inner")}
    )
    good = write_skill(
        root, "good", {".env": SECRET, "a.md": "a", "new\nline.md": "x", "back\\slash.md": "x"}
    )
    (good / "leak.md").symlink_to(outside / "secret.md")
    (good / "leaks").symlink_to(outside)
    (good / "inside.md").symlink_to("a.md")
    (root / "linked").symlink_to(outside / "inner")
    for name, make in TRAPS.items():
        make(root / name)
    with StdioPeer(MODERN, somebody, "serve", root, NO_CONFIG) as peer:
        entries = peer.skills()
        texts = [
            json.dumps(peer.request("resources/read", {"uri": f"skill://good/{path}"})) for path in LEAKS
        ]
        (block,) = peer.result("resources/read", {"uri": PROBLEMS})["contents"]
        assert peer.close() == 0
    return {"entries": entries, "problems": json.loads(block["text"])["problems"], "leaks": texts}


LEAKS = ("leak.md", "leaks/secret.md", ".env", "../../outside/secret.md", "%2e%2e/secret.md")


@pytest.mark.rule("H26")
@pytest.mark.parametrize("trap", TRAPS)
def test_each_trap_is_an_error_with_its_place(trapped: dict[str, Any], trap: str) -> None:
    told = [each["severity"] for each in trapped["problems"] if each["path"].startswith(f"{trap}/bad")]
    assert "error" in told


def test_no_trap_hides_the_good_skill(trapped: dict[str, Any]) -> None:
    assert list(trapped["entries"]) == [GOOD]
    files = {each["uri"].removeprefix("skill://good/") for each in trapped["entries"][GOOD]["resources"]}
    assert files == {"SKILL.md", "a.md", "inside.md"}


def test_nothing_outside_the_folder_is_served(trapped: dict[str, Any]) -> None:
    assert all('"error"' in text and SECRET not in text for text in trapped["leaks"])


def test_reports_of_traps_have_no_control_characters(trapped: dict[str, Any]) -> None:
    assert all(str(value).isprintable() for each in trapped["problems"] for value in each.values())


def test_a_link_that_moves_out_later_is_not_followed(tmp_path: Path, person: Person) -> None:
    secret = write(tmp_path / "outside", {"a.md": SECRET})
    folder = write_skill(tmp_path / "tree", "good", {"inner/a.md": "fine"})
    uri = {"uri": "skill://good/inner/a.md"}
    with StdioPeer(MODERN, person, "serve", tmp_path / "tree", NO_CONFIG) as peer:
        for _ in range(3):
            assert peer.result("resources/read", uri)["contents"][0]["text"] == "fine"
        (folder / "inner").rename(tmp_path / "before")
        (folder / "inner").symlink_to(secret)
        assert SECRET not in json.dumps(peer.request("resources/read", uri))
        (folder / "inner").unlink()
        (tmp_path / "before").rename(folder / "inner")
        (folder / "inner/a.md").unlink()
        (folder / "inner/a.md").symlink_to(secret / "a.md")
        assert SECRET not in json.dumps(peer.request("resources/read", uri))


@pytest.mark.parametrize(
    ("pattern", "served"),
    [("**a**a**a**a**a**a**ab", True), ("*a" * 200, True), ("a" * 5_000, False), ("x\n" * 501, False)],
    ids=["stars", "many stars", "long", "many"],
)
def test_no_ignore_file_freezes_or_uncovers(
    tmp_path: Path, somebody: Person, pattern: str, *, served: bool
) -> None:
    write_skill(tmp_path, "good", {"a" * 220: "x"})
    write(tmp_path, {IGNORE_FILE: f"{pattern}\n"})
    done = somebody.run("list", tmp_path, "--json")
    assert [each["name"] for each in done.json] == (["good"] if served else [])


# Archives


def zipped(make: Callable[[zipfile.ZipFile], object]) -> bytes:
    """Return an archive with a good skill and whatever else is put into it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("good/SKILL.md", skill_md("good"))
        make(archive)
    return stream.getvalue()


def tarred(make: Callable[[tarfile.TarFile], object]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        member = tarfile.TarInfo("good/SKILL.md")
        member.size = len(skill_md("good"))
        archive.addfile(member, io.BytesIO(skill_md("good")))
        make(archive)
    return stream.getvalue()


def zip_link(archive: zipfile.ZipFile) -> None:
    link = zipfile.ZipInfo("good/link.md")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    archive.writestr(link, "/etc/passwd")


def tar_member(name: str, kind: bytes, target: str = "") -> Callable[[tarfile.TarFile], object]:
    def make(archive: tarfile.TarFile) -> None:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, target
        archive.addfile(member)

    return make


ARCHIVES: dict[str, tuple[str, bytes]] = {
    "zip-above": ("zip", zipped(lambda archive: archive.writestr("../evil.md", "x"))),
    "zip-absolute": ("zip", zipped(lambda archive: archive.writestr("/tmp/evil.md", "x"))),
    "zip-backslash": ("zip", zipped(lambda archive: archive.writestr("good\\..\\..\\evil.md", "x"))),
    "zip-link": ("zip", zipped(zip_link)),
    "zip-twice": ("zip", zipped(lambda archive: archive.writestr("good/skill.MD", "x"))),
    "zip-bomb": ("zip", zipped(lambda archive: archive.writestr("good/zeros", bytes(80 << 20)))),
    "zip-cut": ("zip", zipped(lambda archive: archive.writestr("good/a.md", "x"))[:-10]),
    "tar-above": ("tar.gz", tarred(tar_member("../evil.md", tarfile.REGTYPE))),
    "tar-link": ("tar.gz", tarred(tar_member("good/link.md", tarfile.SYMTYPE, "/etc/passwd"))),
    "tar-hard-link": ("tar.gz", tarred(tar_member("good/link.md", tarfile.LNKTYPE, "/etc/passwd"))),
    "tar-device": ("tar.gz", tarred(tar_member("good/zero", tarfile.CHRTYPE))),
}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a server says of all archives, each of which is a source of its own."""
    person = Person(tmp_path_factory.mktemp("archives"))
    honest = {
        "zip-good": ("zip", zipped(lambda archive: archive.writestr("good/a.md", "x"))),
        "tar-good": ("tar.gz", tarred(tar_member("good/a.md", tarfile.REGTYPE))),
    }
    files: list[Path] = []
    for name, (suffix, content) in {**honest, **ARCHIVES}.items():
        files.append(person.home / f"{name}.{suffix}")
        files[-1].write_bytes(content)
    with StdioPeer(MODERN, person, "serve", *files, NO_CONFIG) as peer:
        (block,) = peer.result("resources/read", {"uri": PROBLEMS})["contents"]
        told = {"served": list(peer.skills()), "problems": json.loads(block["text"])["problems"]}
        assert peer.close() == 0
        assert "Traceback" not in peer.said
    assert not list(person.home.parent.rglob("evil.md"))
    assert not Path("/tmp/evil.md").exists()
    return told


@pytest.mark.parametrize("archive", ARCHIVES)
def test_a_hostile_archive_is_refused_whole(unpacked: dict[str, Any], archive: str) -> None:
    told = [each["severity"] for each in unpacked["problems"] if archive in each["path"]]
    assert "error" in told
    assert not [uri for uri in unpacked["served"] if archive in uri]


def test_honest_archives_are_served_beside_hostile_ones(unpacked: dict[str, Any]) -> None:
    assert unpacked["served"] == ["skill://good/SKILL.md", "skill://tar-good/good/SKILL.md"]


# Web sites


@contextmanager
def web(pages: dict[str, Any]) -> Generator[tuple[str, list[str]]]:
    """Serve pages by path: bytes, or an address to be sent to. Yield the address, and what was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            page = pages.get(self.path)
            self.send_response(404 if page is None else 302 if isinstance(page, str) else 200)
            if isinstance(page, str):
                self.send_header("location", page)
            body = page if isinstance(page, bytes) else b""
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


FOLDER = "/.well-known/agent-skills/"


def index(*skills: dict[str, Any]) -> bytes:
    schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
    return json.dumps({"$schema": schema, "skills": skills}).encode()


def published(name: str, url: str, content: bytes) -> dict[str, Any]:
    return {
        "name": name,
        "type": "skill-md",
        "description": "Does one thing. Use when it is needed.",
        "url": url,
        "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
    }


def test_a_web_site_delivers_what_its_index_promises_only(person: Person) -> None:
    good, other = skill_md("good"), skill_md("other")
    with web({"/secret/SKILL.md": good}) as (elsewhere, asked_elsewhere):
        pages: dict[str, Any] = {
            f"{FOLDER}good/SKILL.md": good,
            f"{FOLDER}other/SKILL.md": good,
            f"{FOLDER}swapped/SKILL.md": other,
            f"{FOLDER}moved/SKILL.md": f"{elsewhere}/secret/SKILL.md",
        }
        pages[f"{FOLDER}index.json"] = index(
            published("good", f"{FOLDER}good/SKILL.md", good),
            published("other", f"{FOLDER}other/SKILL.md", other),
            published("swapped", f"{FOLDER}swapped/SKILL.md", other),
            published("moved", f"{FOLDER}moved/SKILL.md", good),
            published("away", f"{elsewhere}/secret/SKILL.md", good),
            published("local", "file:///etc/passwd", good),
        )
        with web(pages) as (site, _):
            done = person.run("list", site, "--json")
    assert [each["name"] for each in done.json] == ["good"]
    assert asked_elsewhere == []


# Files of a project


def test_a_projects_file_is_not_followed_into_private_networks(person: Person, tmp_path: Path) -> None:
    with web({}) as (address, asked):
        ran = tmp_path / "ran"
        servers = {
            "web": {"url": f"{address}/mcp"},
            "program": {"command": "/bin/sh", "args": ["-c", f"touch {ran}"]},
        }
        write(person.work, {".mcp.json": json.dumps({"mcpServers": servers})})
        assert person.run("list", *servers, "--json").code == 2
    assert asked == []
    assert not ran.exists()
