"""One change, one notification of each kind that applies, on both eras of the protocol."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import Library, MemorySource, ServeOptions
from skillwire.library.visibility import Override, VisibilityPolicy
from skillwire.server import Channel, skills_server
from skillwire.sources import MemorySkill
from tests.support.clients import ERAS, skill
from tests.support.listening import NotificationLog, listening

pytestmark = pytest.mark.anyio

ONE, OTHER, SENTINEL = "skill://one/SKILL.md", "skill://other/SKILL.md", "skill://sentinel/SKILL.md"


@dataclass
class Stage:
    """A served source, and a client that listens."""

    source: MemorySource
    client: Client
    heard: NotificationLog
    rounds: int = 0

    async def told(self) -> list[str]:
        """Return everything that was told of the changes so far.

        The sentinel changes with them, and once more when that was heard: by then nothing is on its way.
        """
        for times in (1, 2):
            self.rounds += 1
            self.source.put(skill("sentinel", body=f"round {self.rounds}"))
            await self.heard.until_true(lambda: self.heard.all.count(SENTINEL) == times)  # noqa: B023
        return [each for each in self.heard.take() if each != SENTINEL]


@pytest.fixture(params=ERAS)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@asynccontextmanager
async def stage(
    mode: str,
    *uris: str,
    options: ServeOptions | None = None,
    skills: tuple[MemorySkill, ...] = (),
    visibility: VisibilityPolicy | None = None,
) -> AsyncGenerator[Stage]:
    source = MemorySource([skill("one", files={"refs/a.md": b"a"}), skill("sentinel"), *skills])
    library = Library([source], visibility=visibility)
    await library.load()
    server = skills_server(library, options=options)
    async with listening(server, mode, [SENTINEL, *uris]) as (client, heard):
        yield Stage(source, client, heard)


async def test_another_description_is_told_once_to_each_list_that_shows_it(mode: str) -> None:
    async with stage(mode, ONE) as at:
        at.source.put(skill("one", "description: Another.\n", {"refs/a.md": b"a"}))
        assert await at.told() == ["prompts", "resources", ONE]


async def test_the_tools_change_only_where_they_hold_the_list_of_skills(mode: str) -> None:
    async with stage(mode, options=ServeOptions(Channel.TOOL_DESCRIPTION)) as at:
        at.source.put(skill("one", "description: Another.\n"))
        assert await at.told() == ["prompts", "resources", "tools"]


async def test_another_body_is_told_to_subscribers_alone(mode: str) -> None:
    async with stage(mode, ONE, "skill://one/refs/a.md", "skill://one", "skill://one/refs") as at:
        at.source.put(skill("one", files={"refs/a.md": b"a"}, body="another\n"))
        assert await at.told() == ["skill://one", ONE]
        at.source.put(skill("one", files={"refs/a.md": b"b"}, body="another\n"))
        assert await at.told() == ["skill://one", "skill://one/refs", "skill://one/refs/a.md"]


async def test_who_did_not_subscribe_hears_nothing_of_a_body(mode: str) -> None:
    async with stage(mode) as at:
        at.source.put(skill("one", files={"refs/a.md": b"a"}, body="another\n"))
        assert await at.told() == []


async def test_a_skill_that_comes_or_goes_is_told_once(mode: str) -> None:
    async with stage(mode) as at:
        at.source.put(skill("other"))
        assert await at.told() == ["prompts", "resources"]
        at.source.remove("other")
        assert await at.told() == ["prompts", "resources"]


async def test_a_subscription_outlives_the_skill_that_it_is_for(mode: str) -> None:
    async with stage(mode, OTHER, skills=(skill("other"),)) as at:
        at.source.remove("other")
        assert OTHER in await at.told()
        at.source.put(skill("other"))
        assert OTHER in await at.told()
        at.source.put(skill("other", body="again"))
        assert await at.told() == [OTHER]


async def test_what_no_person_may_start_is_not_in_the_list_of_prompts(mode: str) -> None:
    hidden = VisibilityPolicy({ONE: Override(user=False)})
    async with stage(mode, visibility=hidden) as at:
        at.source.put(skill("one", "description: Another.\n"))
        assert await at.told() == ["resources"]


async def test_a_change_of_visibility_is_a_change_of_the_lists_that_it_hides_from(mode: str) -> None:
    async with stage(mode, options=ServeOptions(Channel.TOOL_DESCRIPTION)) as at:
        at.source.put(skill("one", "user-invocable: false\n"))
        assert "prompts" in await at.told()
        at.source.put(skill("one", "user-invocable: false\ndisable-model-invocation: true\n"))
        assert await at.told() == ["tools"]


async def test_a_name_that_is_shared_now_changes_the_prompts_of_both(mode: str) -> None:
    async with stage(mode) as at:
        at.source.put(skill("team/one", "user-invocable: false\n"))  # itself no prompt
        assert await at.told() == ["prompts", "resources"]


async def test_problems_that_come_and_go_are_told(mode: str) -> None:
    uri = "skillwire://problems"
    async with stage(mode, uri) as at:
        at.source.put(MemorySkill("broken", {"SKILL.md": b"broken"}))
        assert await at.told() == ["resources", uri]
        at.source.put(MemorySkill("broken-too", {"SKILL.md": b"broken"}))
        assert await at.told() == [uri]  # the document was listed before
        at.source.remove("broken")
        at.source.remove("broken-too")
        assert await at.told() == ["resources", uri]


async def test_many_changes_at_once_are_told_together(mode: str) -> None:
    async with stage(mode, ONE) as at:
        for number in range(500):
            at.source.put(skill(f"burst-{number}"))
            at.source.put(skill("one", f"description: Version {number}.\n"))
        assert await at.told() == ["prompts", "resources", ONE]


async def test_a_change_that_changes_nothing_is_not_told(mode: str) -> None:
    async with stage(mode, ONE) as at:
        at.source.put(skill("one", files={"refs/a.md": b"a"}))
        assert await at.told() == []


async def test_subscriptions_are_declared_on_both_eras(mode: str) -> None:
    async with stage(mode) as at:
        declared = at.client.server_capabilities
        assert declared.resources is not None
        assert declared.prompts is not None
        assert declared.tools is not None
        assert (declared.resources.subscribe, declared.resources.list_changed) == (True, True)
        assert (declared.prompts.list_changed, declared.tools.list_changed) == (True, False)


async def test_tools_that_can_change_are_declared_so(mode: str) -> None:
    async with stage(mode, options=ServeOptions(Channel.TOOL_DESCRIPTION)) as at:
        declared = at.client.server_capabilities.tools
        assert declared is not None
        assert declared.list_changed is True


def _request(kind: Any, uri: str) -> Any:
    params = {types.SubscribeRequest: types.SubscribeRequestParams}.get(kind, types.UnsubscribeRequestParams)
    return kind(params=params(uri=uri))


async def test_what_was_unsubscribed_is_not_told_any_more() -> None:
    async with stage("legacy", ONE) as at:
        await at.client.session.send_request(_request(types.UnsubscribeRequest, ONE), types.EmptyResult)
        await at.client.session.send_request(_request(types.UnsubscribeRequest, ONE), types.EmptyResult)
        at.source.put(skill("one", files={"refs/a.md": b"a"}, body="another\n"))
        assert await at.told() == []


async def test_what_is_not_served_cannot_be_subscribed_to() -> None:
    async with stage("legacy") as at:
        with pytest.raises(MCPError, match="nothing is served at `skill://nobody/SKILL") as refused:
            await at.client.session.send_request(
                _request(types.SubscribeRequest, "skill://nobody/SKILL.md"), types.EmptyResult
            )
        assert refused.value.error.code == types.INVALID_PARAMS


@pytest.mark.parametrize(
    "uri", ["skill://one/refs/a.md", "skill://one", "skill://team", "skillwire://problems"]
)
async def test_everything_that_can_be_read_can_be_subscribed_to(uri: str) -> None:
    async with stage("legacy", uri, skills=(skill("team/other"),)):
        pass


async def test_a_client_that_leaves_is_forgotten() -> None:
    source = MemorySource([skill("one"), skill("sentinel")])
    library = Library([source])
    await library.load()
    server = skills_server(library)
    async with listening(server, "legacy", [ONE]):
        pass
    async with listening(server, "legacy", [SENTINEL]) as (client, heard):
        at = Stage(source, client, heard)
        source.put(skill("one", body="another\n"))
        assert await at.told() == []


async def test_two_clients_of_different_eras_hear_of_the_same_change() -> None:
    source = MemorySource([skill("one")])
    library = Library([source])
    await library.load()
    server = skills_server(library)
    async with listening(server, "legacy") as (_, old), listening(server, "auto") as (_, new):
        source.put(skill("other"))
        await old.until("prompts", "resources")
        await new.until("prompts", "resources")
