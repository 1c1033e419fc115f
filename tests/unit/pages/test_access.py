"""Who may see and steer the pages: over real HTTP, with every way to get in that is none."""

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

import httpx2
import pytest
from starlette.datastructures import Headers

from skillwire.cli.main import run
from skillwire.pages.sessions import PageSessions
from tests.support.peers import PATIENCE, HttpPeer, HttpServer
from tests.support.skills import write_skill

TOKEN = "correct-horse-battery-staple"
CONFIG, VISIBILITY = "/ui/call/skill-config", "/ui/call/skill-config-visibility"
URI = "skill://one/SKILL.md"
CHANGES: Mapping[str, dict[str, object]] = {
    "skill-config-add-source": {"source": "/"},
    "skill-config-remove-source": {"label": "skills"},
    "skill-config-sync-source": {"label": "skills"},
    "skill-config-visibility": {"uri": URI, "assistant": False},
    "skill-config-allowed-origins": {"origins": []},
    "skill-config-static": {"static": True},
}


class Browser:
    """As much of a browser as matters here: it keeps a session, and says where a request comes from."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.http = httpx2.Client(base_url=base, timeout=PATIENCE, trust_env=False)
        self.csrf = self.identity = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def session(self) -> Any:
        headers = {"x-skillwire-session": self.identity} if self.identity else {}
        answer = self.http.get("/ui/session", headers=headers).json()
        self.csrf = answer.get("csrf", "")
        return answer

    def enter(self, token: str = TOKEN) -> httpx2.Response:
        return self._opened({"token": token})

    def redeem(self, key: str) -> httpx2.Response:
        return self._opened({"key": key})

    def _opened(self, body: dict[str, str]) -> httpx2.Response:
        answer = self.http.post("/ui/session", json=body, headers={"origin": self.base})
        self.identity = answer.json().get("session", "")
        return answer

    def call(self, path: str, body: object, **headers: str) -> httpx2.Response:
        sent = {
            "origin": self.base,
            "x-skillwire-page": self.csrf,
            "x-skillwire-session": self.identity,
        }
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.post(path, json=body, headers={name: value for name, value in sent.items() if value})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pages") / "skills"
    write_skill(root, "one")
    return root


@pytest.fixture(scope="module")
def guarded(folder: Path) -> Iterator[HttpServer]:
    """A server with a token that may be steered."""
    file, environment = folder.parent / "guarded.toml", {**os.environ, "PAGE_TOKEN": TOKEN}
    options = ("--http", "0", "--token-env", "PAGE_TOKEN", "--allow-config", "--config", file)
    origin = ("--allow-origin", "https://app.example")
    with HttpServer(folder, *options, *origin, env=environment) as server:
        yield server


@pytest.fixture(scope="module")
def closed(folder: Path) -> Iterator[HttpServer]:
    """A server without a token that may not be steered."""
    with HttpServer(folder, "--http", "0", "--config", folder.parent / "closed.toml") as server:
        yield server


@pytest.fixture
def outside(guarded: HttpServer) -> Iterator[Browser]:
    """A browser that was not let in yet."""
    with Browser(guarded.base) as browser:
        yield browser


@pytest.fixture
def browser(outside: Browser) -> Browser:
    """A browser that was let in."""
    assert outside.enter().status_code == 200
    assert outside.session()["open"] is True
    return outside


def test_page_is_the_same_for_everyone_and_contains_no_skills(guarded: HttpServer) -> None:
    answer = httpx2.get(f"{guarded.base}/", trust_env=False)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert TOKEN not in answer.text
    assert "skill://" not in re.sub(r"<script.*?</script>", "", answer.text, flags=re.DOTALL)


def test_without_the_token_nothing_is_shown(outside: Browser) -> None:
    assert outside.session() == {"open": False}
    assert outside.call(CONFIG, {}).status_code == 401
    assert outside.http.get("/ui/events").status_code == 401
    assert outside.call(VISIBILITY, {"uri": URI, "assistant": False}).status_code == 401


@pytest.mark.parametrize("token", ["", "wrong", TOKEN.upper(), f"{TOKEN}x", f"Bearer {TOKEN}"])
def test_wrong_token_is_refused(outside: Browser, token: str) -> None:
    answer = outside.enter(token)
    assert (answer.status_code, "session" in answer.json()) == (401, False)
    assert outside.session() == {"open": False}


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"token": 1}', b"{", b"x" * 300_000])
def test_invalid_login_is_refused(guarded: HttpServer, body: bytes) -> None:
    answer = httpx2.post(f"{guarded.base}/ui/session", content=body, trust_env=False)
    assert answer.status_code in {400, 401, 413}
    assert "session" not in answer.json()


def test_no_answer_of_the_pages_sets_a_cookie(browser: Browser) -> None:
    answers = [
        browser.http.get("/"),
        browser.enter(),
        browser.http.get("/ui/session"),
        browser.call(CONFIG, {}),
        browser.http.delete("/ui/session"),
    ]
    assert [each.headers.get("set-cookie") for each in answers] == [None] * len(answers)


def test_a_session_opens_the_pages_and_nothing_else(browser: Browser, guarded: HttpServer) -> None:
    assert browser.call(CONFIG, {}).json()["skills"] == 1
    shown = {
        "x-skillwire-session": browser.identity,
        "cookie": f"skillwire_page={browser.identity}",
        "authorization": f"Bearer {browser.identity}",
    }
    for name, value in shown.items():
        answer = httpx2.post(guarded.url, json={}, headers={name: value}, trust_env=False)
        assert answer.status_code == 401, name
    cookie = httpx2.get(f"{guarded.base}/ui/events", headers={"cookie": shown["cookie"]}, trust_env=False)
    assert cookie.status_code == 401


def test_unknown_session_id_is_refused(browser: Browser, guarded: HttpServer) -> None:
    real = browser.identity
    for made in ("", "x", real[:-1], f"{real}x", f"{real},{real}", browser.csrf, TOKEN):
        headers = {"x-skillwire-session": made}
        answer = httpx2.get(f"{guarded.base}/ui/events", headers=headers, trust_env=False)
        assert answer.status_code == 401
    twice = [("x-skillwire-session", real), ("x-skillwire-session", real)]
    assert httpx2.get(f"{guarded.base}/ui/events", headers=twice, trust_env=False).status_code == 401


def test_a_session_ends_with_its_server(folder: Path, browser: Browser) -> None:
    environment = {**os.environ, "PAGE_TOKEN": TOKEN}
    options = ("--http", "0", "--no-config", "--token-env", "PAGE_TOKEN")
    with HttpServer(folder, *options, env=environment) as server:
        answer = httpx2.get(
            f"{server.base}/ui/session", headers={"x-skillwire-session": browser.identity}, trust_env=False
        )
        assert answer.json() == {"open": False}


def test_ended_session_cannot_be_replayed(browser: Browser) -> None:
    identity, csrf = browser.identity, browser.csrf
    assert browser.http.delete("/ui/session", headers={"x-skillwire-session": identity}).status_code == 200
    replayed = {"x_skillwire_session": identity, "x_skillwire_page": csrf}
    assert browser.call(CONFIG, {}, **replayed).status_code == 401
    assert browser.call(VISIBILITY, {"uri": URI, "assistant": False}, **replayed).status_code == 401
    answer = browser.http.get("/ui/events", headers={"x-skillwire-session": identity})
    assert answer.status_code == 401
    assert browser.session() == {"open": False}


def test_signing_out_ends_only_the_streams_of_that_session(browser: Browser, guarded: HttpServer) -> None:
    headers = {"x-skillwire-session": browser.identity}
    with (
        Browser(guarded.base) as other,
        browser.http.stream("GET", "/ui/events", headers=headers) as left,
    ):
        assert other.enter().status_code == 200
        lines = left.iter_lines()
        assert next(lines).startswith("data:")
        with other.http.stream("GET", "/ui/events", headers={"x-skillwire-session": other.identity}) as stays:
            more = stays.iter_lines()
            assert next(more).startswith("data:")
            browser.http.delete("/ui/session", headers=headers)
            assert all(not line for line in lines)  # it ends, which the loop would wait for
            assert other.call(CONFIG, {}).status_code == 200


def test_session_limit_ends_the_oldest_session() -> None:
    sessions = PageSessions(TOKEN, max_sessions=2)
    ended: list[int] = []
    ids: list[str] = []
    for number in range(3):
        identity = sessions.log_in_with_token(TOKEN)
        assert identity is not None
        ids.append(identity)
        if (session := sessions.find(shown(identity))) is not None:
            session.on_end(partial(ended.append, number))
    assert [sessions.find(shown(identity)) is not None for identity in ids] == [False, True, True]
    assert ended == [0]


def test_session_expires() -> None:
    now = 1000.0
    sessions = PageSessions(TOKEN, seconds=60, clock=lambda: now)
    identity = sessions.log_in_with_token(TOKEN)
    assert identity is not None
    now += 59
    session = sessions.find(shown(identity))
    assert session is not None
    now += 1
    assert sessions.is_over(session)
    assert sessions.find(shown(identity)) is None


def shown(identity: str) -> Headers:
    return Headers({"x-skillwire-session": identity})


def test_program_with_the_token_in_a_header_has_full_access(guarded: HttpServer) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    session = httpx2.get(f"{guarded.base}/ui/session", headers=headers, trust_env=False).json()
    sent = {**headers, "x-skillwire-page": session["csrf"]}
    answer = httpx2.post(f"{guarded.base}{CONFIG}", json={}, headers=sent, trust_env=False)
    assert answer.json()["skills"] == 1


def test_call_without_csrf_token_is_refused(closed: HttpServer) -> None:
    with Browser(closed.base) as browser:
        browser.session()
        for secret in ("", "wrong", browser.csrf[:-1]):
            answer = browser.call(CONFIG, {}, x_skillwire_page=secret)
            assert (answer.status_code, answer.json()["code"]) == (403, "outdated")
        assert browser.call(CONFIG, {}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost:1",
        "http://127.0.0.1:1",
        "http://127.0.0.1.:1",
        "https://app.example",
        "HTTPS://APP.EXAMPLE",
    ],
)
def test_other_origins_are_refused_even_with_the_csrf_token(browser: Browser, origin: str) -> None:
    answer = browser.call(VISIBILITY, {"uri": URI, "assistant": False}, origin=origin)
    assert answer.status_code == 403
    answer = browser.http.get("/ui/session", headers={"origin": origin})
    assert answer.status_code == 403
    assert "csrf" not in answer.json()
    assert (
        browser.http.post("/ui/session", json={"token": TOKEN}, headers={"origin": origin}).status_code == 403
    )


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_cross_site_request_is_refused(browser: Browser, site: str) -> None:
    assert browser.call(CONFIG, {}, sec_fetch_site=site, origin="").status_code == 403
    headers = {"sec-fetch-site": site, "x-skillwire-session": browser.identity}
    assert browser.http.get("/ui/events", headers=headers).status_code == 403


def test_without_leave_no_action_that_changes_anything_exists(closed: HttpServer) -> None:
    with Browser(closed.base) as browser:
        assert browser.session()["open"] is True
        for action, body in CHANGES.items():
            answer = browser.call(f"/ui/call/{action}", body)
            assert answer.status_code == 404
            assert "--allow-config" in answer.json()["error"]
        config = browser.call(CONFIG, {}).json()
    assert config["editable"] is False
    assert not Path(config["configFile"]).exists()


def test_editable_server_has_every_action(browser: Browser) -> None:
    for action in CHANGES:
        answer = browser.call(f"/ui/call/{action}", {})
        assert answer.status_code == 400, action  # the arguments are missing
        assert "parameter" in answer.json()["error"] or "pass" in answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"null", b"1"])
def test_arguments_that_are_no_object_are_refused(browser: Browser, body: bytes) -> None:
    headers = {"origin": browser.base, "x-skillwire-session": browser.identity}
    assert browser.http.post(CONFIG, content=body, headers=headers).status_code == 400


@pytest.mark.parametrize(
    "arguments",
    [{"limit": -1}, {"limit": "many"}, {"offset": 1.5}, {"query": 1}, {"skill": 1}, {"limit": True}],
)
def test_arguments_of_the_wrong_kind_are_refused(browser: Browser, arguments: dict[str, object]) -> None:
    answer = browser.call("/ui/call/skill-display", arguments)
    assert (answer.status_code, "parameter" in answer.json()["error"]) == (400, True)


def test_what_is_refused_says_what_to_do(browser: Browser) -> None:
    answer = browser.call("/ui/call/skill-config-add-source", {"source": "nowhere"})
    assert answer.status_code == 409
    assert answer.json() == {
        "error": "`nowhere` is not an absolute path",
        "hint": "write a path such as `/home/you/skills` or `~/skills`",
    }


def test_a_change_reaches_the_server_the_file_and_its_clients(browser: Browser, guarded: HttpServer) -> None:
    peer = HttpPeer("2025-11-25", guarded.url, TOKEN)
    assert peer.capabilities()["prompts"] == {"listChanged": True}
    names = [prompt["name"] for prompt in peer.result("prompts/list")["prompts"]]
    assert names == ["skill", "one"]
    assert browser.call(VISIBILITY, {"uri": URI, "user": False}).json() == {"done": True}
    assert [prompt["name"] for prompt in peer.result("prompts/list")["prompts"]] == ["skill"]
    file = Path(browser.call(CONFIG, {}).json()["configFile"])
    assert "user = false" in file.read_text(encoding="utf-8")
    browser.call(VISIBILITY, {"uri": URI, "user": None})
    assert [prompt["name"] for prompt in peer.result("prompts/list")["prompts"]] == names
    peer.close()


def test_open_pages_are_notified_of_changes(browser: Browser, folder: Path) -> None:
    headers = {"x-skillwire-session": browser.identity}
    with browser.http.stream("GET", "/ui/events", headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = (line for line in answer.iter_lines() if line.startswith("data:"))
        first = int(next(lines).removeprefix("data:"))
        assert first == browser.call(CONFIG, {}).json()["revision"]
        threading.Thread(target=write_skill, args=(folder, "came-later")).start()
        assert int(next(lines).removeprefix("data:")) > first
    assert browser.call(CONFIG, {}).json()["skills"] == 2


def test_a_server_with_open_pages_ends_at_once(folder: Path) -> None:
    with (
        HttpServer(folder, "--http", "0", "--no-config") as server,
        httpx2.stream("GET", f"{server.base}/ui/events", trust_env=False, timeout=PATIENCE) as answer,
    ):
        assert next(answer.iter_lines()).startswith("data:")
        assert server.stop() == 0


def test_files_are_shown_as_text_or_not_at_all(browser: Browser, folder: Path) -> None:
    text = browser.call("/ui/call/skill-file", {"uri": URI}).json()
    assert text["text"].startswith("---\nname: one\n")
    assert browser.call("/ui/call/skill-file", {"uri": "skill://one/nothing.md"}).status_code == 404
    assert browser.call("/ui/call/skill-file", {"uri": f"file://{folder}/one/SKILL.md"}).status_code == 404


def test_public_server_does_not_reveal_folders(folder: Path) -> None:
    with HttpServer(folder, "--http", "0.0.0.0:0", "--allow-public", "--no-config") as server:
        port = server.base.rpartition(":")[2]
        with Browser(f"http://127.0.0.1:{port}") as browser:
            browser.session()
            told = json.dumps(browser.call(CONFIG, {}).json())
            told += json.dumps(browser.call("/ui/call/skill-display", {"skill": "one"}).json())
        assert str(folder) not in told


def test_editable_server_on_public_address_needs_a_token(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert run(["serve", str(folder), "--http", "0.0.0.0:0", "--allow-public", "--allow-config"]) == 2
    assert "`--allow-config` lets pages change things, and `0.0.0.0`" in capsys.readouterr().err


def test_editable_server_needs_a_configuration_file(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert run(["serve", str(folder), "--http", "0", "--allow-config", "--no-config"]) == 2
    assert "contradict each other" in capsys.readouterr().err
