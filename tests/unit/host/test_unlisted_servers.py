"""Names of skills on servers that could not be listed: the errors for people, programs and models say why."""

from pathlib import Path

import pytest

from skillwire import Host, Target
from skillwire.errors import LoginRequiredError, UnavailableError
from skillwire.library.names import UnknownNameError
from tests.support.posting import PostingSite
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio
DOWN = Target("acme", url="http://127.0.0.1:1/mcp")


@pytest.mark.parametrize("name", ["acme:hello", "acme/hello", "ACME/hello"])
async def test_a_name_on_an_unlisted_server_is_unavailable(tmp_path: Path, name: str) -> None:
    write_skill(tmp_path, "own")
    async with Host([DOWN], {"mine": tmp_path}) as host:
        await host.discover()
        session = host.session()
        for find in (session.load, session.load_for_model, host.find):
            with pytest.raises(UnavailableError, match="`acme` does not answer: ") as caught:
                await find(name)
            assert not isinstance(caught.value, LoginRequiredError)
        text = await session.tools()[0].call({"name": name})
        assert text.startswith("error: server `acme`: its skills are not known: `acme` does not answer: ")
        assert "there is no skill" not in text
        await session.load("own")


async def test_an_unknown_bare_name_names_unlisted_servers(tmp_path: Path) -> None:
    write_skill(tmp_path, "own")
    async with Host([DOWN], {"mine": tmp_path}) as host:
        session = host.session()
        with pytest.raises(
            UnknownNameError, match=r"there is no skill `hello`; .*skills of `acme` are unknown"
        ):
            await session.load("hello")
        with pytest.raises(UnknownNameError) as caught:
            await session.load("mine:hello")
        assert "acme" not in str(caught.value)


async def test_a_name_on_a_server_with_login_asks_for_it() -> None:
    with PostingSite(status=401) as site:
        async with Host([Target("acme", url=site.url)]) as host:
            with pytest.raises(LoginRequiredError, match="skillwire login acme"):
                await host.session().load("acme:hello")


async def test_a_server_with_a_refused_list_is_unavailable() -> None:
    with PostingSite(body=b"[" * 1_000_000) as site:
        async with Host([Target("acme", url=site.url)]) as host:
            with pytest.raises(UnavailableError, match="skills are not known"):
                await host.session().load("acme:hello")
