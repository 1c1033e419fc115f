"""Every way to start a server gives the same bytes, the response cache and notifications of changes."""

import gc
import json
import subprocess
import sys
import traceback
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.server.context import CallNext, HandlerResult

import skillwire
from skillwire import FolderSource, Library, Skill, SkillServer
from skillwire.errors import UsageError
from skillwire.server import Address, HostPolicy, http_app, listen, serve_http, skills_server
from skillwire.server.build import Context, Params, cached_skills
from tests.support.cached_answers import headers_for, modern
from tests.support.peers import MODERN, PATIENCE, VERSIONS, StdioPeer
from tests.support.peers import skillwire as command
from tests.support.skills import write_skill

REFUNDS = "skill://refunds/SKILL.md"
SERVE = "import sys, skillwire; skillwire.serve(sys.argv[1])"
SKILL_SERVER = """
import sys, skillwire
server = skillwire.SkillServer("skillwire", version=skillwire.__version__)
server.add(skillwire.Skill.from_dir(sys.argv[1] + "/refunds"))
server.run()
"""
SERVE_STDIO = """
import sys, anyio
from skillwire import FolderSource, Library
from skillwire.server import serve_stdio, skills_server
anyio.run(serve_stdio, skills_server(Library([FolderSource(sys.argv[1])])))
"""
AND_THEN = "\nimport sys; print('mcp' in sys.modules, file=sys.stderr)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_skill(tmp_path / "skills", "refunds", {"policy.md": "Thirty days.\n", "logo.bin": b"\x00\xff"})
    return tmp_path / "skills"


def program(source: str, folder: Path) -> list[str]:
    return [sys.executable, "-c", source, str(folder)]


def every_way(folder: Path) -> Mapping[str, list[str]]:
    return {
        "the command": command("serve", folder, "--no-config"),
        "serve": program(SERVE, folder),
        "SkillServer": program(SKILL_SERVER, folder),
        "serve_stdio": program(SERVE_STDIO, folder),
    }


QUESTIONS = [
    modern("skills/list"),
    modern("skills/get", uri=REFUNDS),
    modern("resources/read", uri=REFUNDS),
    modern("resources/read", uri="skill://refunds/logo.bin"),
    modern("resources/read", uri="skill://refunds/nothing.md"),
]


@pytest.mark.rule("S12", "S19")
def test_every_way_to_serve_gives_the_same_bytes(folder: Path) -> None:
    answers: dict[str, list[Any]] = {}
    for way, arguments in every_way(folder).items():
        with StdioPeer(MODERN, arguments) as peer:
            answers[way] = [peer.exchange(question) for question in QUESTIONS * 3]
    expected = answers.pop("the command")
    assert [each.get("result", {}).get("skills", [{}])[0].get("uri") for each in expected][:1] == [REFUNDS]
    for way, given in answers.items():
        assert given == expected, way


def test_every_way_to_serve_offers_skills_to_every_client(folder: Path) -> None:
    for way, arguments in every_way(folder).items():
        with StdioPeer(VERSIONS[1], arguments) as peer:
            assert "load-skill" in peer.handshake["instructions"], way
            assert "load-skill" in {tool["name"] for tool in peer.result("tools/list")["tools"]}, way
            prompts = {each["name"] for each in peer.result("prompts/list")["prompts"]}
            assert {"skill", "refunds"} <= prompts, way


@pytest.mark.parametrize(
    ("source", "asked"),
    [(SERVE, QUESTIONS[:2]), (SKILL_SERVER, QUESTIONS[:4])],  # a file that was just written is read anew
    ids=["serve", "SkillServer"],
)
def test_server_in_code_answers_without_the_sdk(
    folder: Path, source: str, asked: list[dict[str, Any]]
) -> None:
    lines = b"".join(json.dumps(question).encode() + b"\n" for question in asked)
    done = subprocess.run(
        program(source + AND_THEN, folder), input=lines, capture_output=True, timeout=PATIENCE, check=True
    )
    assert len(done.stdout.splitlines()) == len(asked)
    assert done.stderr.decode().splitlines()[-1] == "False"


@pytest.mark.parametrize("version", VERSIONS[:2])
@pytest.mark.parametrize("way", ["the command", "serve", "serve_stdio"])
def test_changed_file_is_announced_and_read_again(folder: Path, way: str, version: str) -> None:
    with StdioPeer(version, every_way(folder)[way]) as peer:
        before, *_ = [peer.result("skills/get", {"uri": REFUNDS})["skill"] for _ in range(3)]
        if peer.modern:
            wanted = {"notifications": {"resourceSubscriptions": [REFUNDS]}}
            line = modern("subscriptions/listen", "stream", **wanted)
            peer.send_line(json.dumps(line).encode())
            assert peer.receive()["method"] == "notifications/subscriptions/acknowledged"
        else:
            peer.result("resources/subscribe", {"uri": REFUNDS})
        (folder / "refunds/SKILL.md").write_text("---\nname: refunds\ndescription: New words.\n---\n")
        while "resources/updated" not in peer.receive().get("method", ""):
            pass
        line = json.dumps(modern("skills/get", 99, uri=REFUNDS) if peer.modern else _legacy_get(99)).encode()
        peer.send_line(line)
        while (answer := peer.receive()).get("id") != 99:
            pass
        assert answer["result"]["skill"] != before
        assert answer["result"]["skill"]["frontmatter"]["description"] == "New words."


def _legacy_get(identity: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": "skills/get", "params": {"uri": REFUNDS}}


def built() -> Any:
    return SkillServer("demo").add(Skill("one", "---\nname: one\ndescription: O.\n---\n")).build()


async def refuse(ctx: Context, call_next: CallNext) -> HandlerResult:
    del ctx, call_next
    raise AssertionError


async def other(_context: Context, _params: Params) -> dict[str, Any]:
    return {"skills": []}


def test_unmodified_server_has_a_cache() -> None:
    assert cached_skills(built()) is not None
    assert cached_skills(SkillServer("empty").build()) is None


def test_middleware_disables_the_cache() -> None:
    server = built()
    server.middleware.append(refuse)
    assert cached_skills(server) is None


@pytest.mark.parametrize("method", ["skills/list", "skills/get", "resources/read"])
def test_custom_handler_disables_the_cache(method: str) -> None:
    server = built()
    server.add_request_handler(method, Params, other)
    assert cached_skills(server) is None


def test_custom_name_or_lifespan_disables_the_cache() -> None:
    renamed, other_life = built(), built()
    renamed.name = "another"
    other_life.lifespan = other
    assert cached_skills(renamed) is None
    assert cached_skills(other_life) is None


def test_server_and_cache_are_garbage_collected_together() -> None:
    server = built()
    cached = cached_skills(server)
    assert cached is not None
    gone = weakref.ref(server), weakref.ref(cached.library)
    del server, cached
    gc.collect()
    assert [each() for each in gone] == [None, None]


RUN_WITH_MIDDLEWARE = """
import sys, skillwire
server = skillwire.SkillServer("demo").add(skillwire.Skill.from_dir(sys.argv[1] + "/refunds"))
async def note(ctx, call_next):
    print(ctx.method, file=sys.stderr, flush=True)
    return await call_next(ctx)
server.build().middleware.append(note)
server.run()
"""


def test_middleware_added_after_build_sees_every_request(folder: Path) -> None:
    with StdioPeer(MODERN, program(RUN_WITH_MIDDLEWARE, folder)) as peer:
        for _ in range(3):
            assert peer.result("skills/list")["skills"]
    assert peer.stderr().count("skills/list") == 3


@pytest.mark.anyio
async def test_middleware_added_to_running_app_is_not_bypassed(folder: Path) -> None:
    """A middleware may control access, so the cache is disabled at the next request."""
    server = skills_server(Library([FolderSource(folder)]))
    listening, bound = listen(Address("127.0.0.1", 0))
    app = http_app(server, HostPolicy(bound))
    seen: list[str] = []

    async def note(ctx: Context, call_next: CallNext) -> HandlerResult:
        seen.append(ctx.method)
        return await call_next(ctx)

    server.middleware.append(note)
    started, stop = anyio.Event(), anyio.Event()
    async with anyio.create_task_group() as tasks:

        async def serve() -> None:
            await serve_http(app, listening, started.set, stop=stop)

        tasks.start_soon(serve)
        await started.wait()
        async with httpx2.AsyncClient(trust_env=False) as client:
            message = modern("skills/list")
            headers = {name.decode(): value.decode() for name, value in headers_for(message)}
            for _ in range(3):
                answer = await client.post(f"http://{bound.authority}/mcp", json=message, headers=headers)
                assert answer.json()["result"]["skills"]
        stop.set()
    assert seen == ["skills/list"] * 3


@pytest.mark.anyio
async def test_cancelling_http_server_frees_the_port(folder: Path) -> None:
    listening, bound = listen(Address("127.0.0.1", 0))
    app = http_app(skills_server(Library([FolderSource(folder)])), HostPolicy(bound))
    started = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve_http, app, listening, started.set)
        with anyio.fail_after(PATIENCE):
            await started.wait()
        tasks.cancel_scope.cancel()
    again, _ = listen(bound)
    again.close()


def test_non_loopback_address_requires_a_token() -> None:
    server = SkillServer("demo").add(Skill("one", "---\nname: one\ndescription: O.\n---\n"))
    with pytest.raises(UsageError, match="no token"):
        server.run("0.0.0.0:0")
    with pytest.raises(UsageError, match="no token"):
        skillwire.serve(server, http="0.0.0.0:0")
    with pytest.raises(UsageError, match="`token` needs `http`"):
        server.run(token="secret")


def test_serving_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing to serve"):
        skillwire.serve()


OVER_HTTP = """
import sys, skillwire
server = skillwire.SkillServer("demo").add(skillwire.Skill.from_dir(sys.argv[1] + "/refunds"))
assert server.build()  # before anybody knows of a token
server.run("127.0.0.1:0", token="s3cret")
"""


@pytest.mark.rule("S12")
@pytest.mark.parametrize(
    "source",
    [OVER_HTTP, "import sys, skillwire; skillwire.serve(sys.argv[1], http='0', token='s3cret')"],
    ids=["SkillServer", "serve"],
)
def test_token_guards_server_in_code_with_private_answers(folder: Path, source: str) -> None:
    with subprocess.Popen(program(source, folder), stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        told = next(line.decode() for line in process.stderr if b"serving on " in line)
        url = told.split("serving on ")[1].strip()
        try:
            for method in ("skills/list", "resources/list"):
                message = modern(method)
                headers = {name.decode(): value.decode() for name, value in headers_for(message)}
                with httpx2.Client(trust_env=False) as client:
                    assert client.post(url, json=message, headers=headers).status_code == 401
                    headers["authorization"] = "Bearer s3cret"
                    for _ in range(3):
                        answer = client.post(url, json=message, headers=headers).json()
                        assert answer["result"]["cacheScope"] == "private"
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0


def test_serve_reports_broken_skills_and_missing_folders_on_stderr(folder: Path) -> None:
    write_skill(folder, "broken", name="Broken Name")
    source = "import skillwire, sys\nskillwire.serve(sys.argv[1], sys.argv[1] + '-missing')\n"
    done = subprocess.run(
        program(source, folder), input=b"", capture_output=True, timeout=PATIENCE, check=True
    )
    told = done.stderr.decode()
    assert f"waiting for `{folder}-missing`, which does not exist" in told
    assert "`Broken Name` is not lowercase letters" in told
    assert done.stdout == b""


def test_traceback_shows_hint_of_error() -> None:
    with pytest.raises(UsageError) as caught:
        skillwire.serve("skills", http="0.0.0.0:0")
    assert f"hint: {caught.value.hint}" in "".join(traceback.format_exception(caught.value))
