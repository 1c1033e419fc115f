"""A server offers the eval cases of skills only if the operator includes them."""

from pathlib import Path

import pytest

from tests.support.peers import MODERN, HttpPeer, HttpServer
from tests.support.skills import write_skill

URI = "skill://refunds/evals/evals.json"


@pytest.mark.parametrize(("options", "served"), [((), False), (("--include-evals",), True)])
def test_a_server_offers_evals_only_on_request(
    tmp_path: Path,
    options: tuple[str, ...],
    served: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    write_skill(tmp_path / "skills", "refunds", {"evals/evals.json": "[]"})
    with HttpServer(tmp_path / "skills", "--no-config", "--http", "127.0.0.1:0", *options) as server:
        peer = HttpPeer(MODERN, server.url)
        try:
            (skill,) = peer.result("skills/list")["skills"]
            assert (URI in str(skill)) is served
            answer = peer.request("resources/read", {"uri": URI})
            assert ("result" in answer) is served
        finally:
            peer.http.close()
