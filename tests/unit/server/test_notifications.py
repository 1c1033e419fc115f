"""One change, one notification of each kind that applies, on both eras of the protocol."""

import re
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


async def test_changed_description_notifies_each_list_once(mode: str) -> None:
    async with stage(mode, ONE) as at:
        at.source.put(skill("one", "description: Another.\n", {"refs/a.md": b"a"}))
        assert await at.told() == ["prompts", "resources", ONE]


async def test_tools_change_only_if_they_describe_skills(mode: str) -> None:
    async with stage(mode, options=ServeOptions(Channel.TOOL_DESCRIPTION)) as at:
        at.source.put(skill("one", "description: Another.\n"))
        assert await at.told() == ["prompts", "resources", "tools"]


async def test_tool_description_lists_skills_after_each_change(mode: str) -> None:
    async with stage(mode, options=ServeOptions(Channel.TOOL_DESCRIPTION)) as at:
        for change, names in (
            (lambda: at.source.put(skill("other")), ["one", "sentinel", "other"]),
            (lambda: at.source.remove("one"), ["sentinel", "other"]),
        ):
            change()
            assert "tools" in await at.told()
            described = (await at.client.list_tools(cache_mode="bypass")).tools[0].description or ""
            assert re.findall(r"<name>(\S+)</name>", described) == names


async def test_changed_body_notifies_only_subscribers(mode: str) -> None:
    async with stage(mode, ONE, "skill://one/refs/a.md", "skill://one", "skill://one/refs") as at:
        at.source.put(skill("one", files={"refs/a.md": b"a"}, body="another\n"))
        assert await at.told() == ["skill://one", ONE]
        at.source.put(skill("one", files={"refs/a.md": b"b"}, body="another\n"))
        assert await at.told() == ["skill://one", "skill://one/refs", "skill://one/refs/a.md"]


async def test_changed_body_does_not_notify_other_clients(mode: str) -> None:
    async with stage(mode) as at:
        at.source.put(skill("one", files={"refs/a.md": b"a"}, body="another\n"))
        assert await at.told() == []


async def test_added_or_removed_skill_notifies_once(mode: str) -> None:
    async with stage(mode) as at:
        at.source.put(skill("other"))
        assert await at.told() == ["prompts", "resources"]
        at.source.remove("other")
        assert await at.told() == ["prompts", "resources"]


async def test_subscription_outlives_its_skill(mode: str) -> None:
    async with stage(mode, OTHER, skills=(skill("other"),)) as at:
        at.source.remove("other")
        assert OTHER in await at.told()
        at.source.put(skill("other"))
        assert OTHER in await at.told()
        at.source.put(skill("other", body="again"))
        assert await at.told() == [OTHER]


async def test_skills_not_for_people_do_not_change_prompts(mode: str) -> None:
    hidden = VisibilityPolicy({ONE: Override(user=False)})
    async with stage(mode, visibility=hidden) as at:
        at.source.put(skill("one", "description: Another.\n"))
        assert await at.told() == ["resources"]


async def test_changed_visibility_notifies_the_affected_lists(mode: str) -> None:
    async with stage(mode, options=ServeOptions(Channel.TOOL_DESCRIPTION)) as at:
        at.source.put(skill("one", "user-invocable: false\n"))
        assert "prompts" in await at.told()
        at.source.put(skill("one", "user-invocable: false\ndisable-model-invocation: true\n"))
        assert await at.told() == ["tools"]


async def test_name_that_becomes_shared_renames_no_prompt(mode: str) -> None:
    async with stage(mode) as at:
        at.source.put(skill("team/one", "user-invocable: false\n"))  # itself no prompt
        assert await at.told() == ["resources"]
        at.source.put(skill("team/one"))
        assert await at.told() == ["prompts"]  # now it is one itself


async def test_new_and_fixed_problems_notify_clients(mode: str) -> None:
    uri = "skillwire://problems"
    async with stage(mode, uri) as at:
        at.source.put(MemorySkill("broken", {"SKILL.md": b"broken"}))
        assert await at.told() == ["resources", uri]
        at.source.put(MemorySkill("broken-too", {"SKILL.md": b"broken"}))
        assert await at.told() == [uri]  # the document was listed before
        at.source.remove("broken")
        at.source.remove("broken-too")
        assert await at.told() == ["resources", uri]


async def test_many_changes_are_notified_together(mode: str) -> None:
    async with stage(mode, ONE) as at:
        for number in range(500):
            at.source.put(skill(f"burst-{number}"))
            at.source.put(skill("one", f"description: Version {number}.\n"))
        assert await at.told() == ["prompts", "resources", ONE]


async def test_rescan_without_differences_notifies_no_client(mode: str) -> None:
    async with stage(mode, ONE) as at:
        at.source.put(skill("one", files={"refs/a.md": b"a"}))
        assert await at.told() == []


async def test_subscriptions_are_declared_on_all_protocol_versions(mode: str) -> None:
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


async def test_no_notification_after_unsubscribing() -> None:
    async with stage("legacy", ONE) as at:
        await at.client.session.send_request(_request(types.UnsubscribeRequest, ONE), types.EmptyResult)
        await at.client.session.send_request(_request(types.UnsubscribeRequest, ONE), types.EmptyResult)
        at.source.put(skill("one", files={"refs/a.md": b"a"}, body="another\n"))
        assert await at.told() == []


async def test_subscribing_to_an_unserved_uri_is_refused() -> None:
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


async def test_clients_of_different_versions_receive_the_same_change() -> None:
    source = MemorySource([skill("one")])
    library = Library([source])
    await library.load()
    server = skills_server(library)
    async with listening(server, "legacy") as (_, old), listening(server, "auto") as (_, new):
        source.put(skill("other"))
        await old.until("prompts", "resources")
        await new.until("prompts", "resources")
