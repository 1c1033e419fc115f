"""Templates of servers in a host: how they are found, named and shown, and what a hostile one cannot do."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client

from skillwire import Host, LiveSkill, ServerSource, Session, SkillRequest, Skills, SkillServer, State
from skillwire.authoring.source import CodeSource
from skillwire.core.names import NAME_RULE
from skillwire.errors import ChangedError, RequestError, UnavailableError, VerificationError
from skillwire.host import Answer, ConnectedServer
from skillwire.host.hosted_template import HostedTemplate
from skillwire.host.registry import HostReference, Registry
from skillwire.library.names import AmbiguousNameError, UnknownNameError
from skillwire.protocol.templates import TemplateClaim
from skillwire.sources import Limits, Rule, Severity
from tests.support.clients import ERAS
from tests.support.hosts import Person, honest, open_host
from tests.support.scripted import ScriptedServer
from tests.support.skill_claims import hosted_skill, skill_claim
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)

DOCS = {
    "uriTemplate": "skill://docs/{product}/guide/SKILL.md",
    "name": "d",
    "description": "Guide to a product.",
}
ACME = "skill://docs/acme/guide/SKILL.md"
GUIDE = {"references/a.md": b"# A\n"}


def documented(*templates: Any, **more: Any) -> ScriptedServer:
    """Return a server of one listed skill, and of one that only a template describes."""
    script = ScriptedServer(templates=templates or [DOCS], **more)
    script.publish("docs/acme/guide", GUIDE)
    (entry,) = script.entries
    script.publish("refunds")
    script.entries, script.got = script.entries[1:], {ACME: entry}
    return script


def hosted(uri_template: str, label: str = "acme") -> HostedTemplate:
    return HostedTemplate.of_server(label, TemplateClaim(uri_template, "D."))


async def ask(session: Session, tool: str, **arguments: Any) -> str:
    found = next(each for each in session.tools(resources=True) if each.name == tool)
    return await found.call(arguments)


@asynccontextmanager
async def open_drafts(script: ScriptedServer, approve: Person | None = None) -> AsyncGenerator[Host]:
    """Yield a host that accepts earlier drafts."""
    async with Client(script.server()) as client:
        source = ServerSource(ConnectedServer("acme", client, drafts=True))
        async with Host(sources=[source], approve=approve) as host:
            await host.discover()
            yield host


# Discovery


@every_era
async def test_templates_of_a_server_are_listed_with_its_skills(mode: Any) -> None:
    async with open_host(mode, acme=documented()) as host:
        assert [each.handle for each in host.registry] == ["acme:refunds"]
        (template,) = host.registry.templates
        assert (template.handle, template.parameters) == ("acme:docs/{product}/guide", ("product",))
        assert (template.description, template.local) == ("Guide to a product.", False)
        assert host.registry.problems == ()


async def test_catalog_text_shows_templates_with_their_parameters() -> None:
    users = {"uriTemplate": "x://users/{userId}/SKILL.md", "name": "u", "description": "<b>User\u202e</b>"}
    guide = 'name="acme:docs/{product}/guide" server="acme" description="Guide to a product."'
    user = 'name="acme:users/{userId}" server="acme" description="&lt;b&gt;User&lt;/b&gt;"'
    async with open_host("auto", acme=documented(DOCS, users)) as host:
        text = host.session().catalog_prompt()
    assert text.splitlines()[3:-1] == [
        '<skill name="acme:refunds" server="acme" description="Does refunds."/>',
        f'<skill {guide} parameters="product: any value"/>',
        f'<skill {user} parameters="userId: {NAME_RULE}"/>',
    ]
    assert "Put a value in place of each parameter" in text
    async with open_host("auto", acme=honest("refunds")) as host:
        assert "parameter" not in host.session().catalog_prompt()


async def test_many_templates_do_not_hide_skills_from_the_model() -> None:
    many = [{"uriTemplate": f"skill://n{n}/{{a}}/SKILL.md", "name": "x"} for n in range(900)]
    async with open_host("auto", loud=documented(*many), quiet=honest("quiet")) as host:
        lines = host.session().catalog_prompt(300).splitlines()
    assert lines[3].startswith('<skill name="loud:refunds"')
    assert lines[4].startswith('<skill name="quiet:quiet"')
    assert lines[-1].endswith(
        "more skills are not shown here; `search_skills` finds them, and `read_skill` takes the name of any."
    )


@pytest.mark.rule("H5")
@pytest.mark.parametrize(
    ("templates", "message"),
    [
        ({"resourceTemplates": 7}, "the server refused"),
        ({}, "the server refused"),
        ([7], "the server refused"),
        ([{"uriTemplate": "skill://{+x}/SKILL.md", "name": "x"}], "it cannot be used"),
        ([{"uriTemplate": "file:///{x}/SKILL.md", "name": "x"}], "it cannot be used"),
        ({"resourceTemplates": [], "nextCursor": ""}, "a cursor is repeated"),
    ],
)
async def test_bad_list_of_templates_hides_no_skill(templates: Any, message: str) -> None:
    script = documented()
    script.templates = templates
    async with open_host("auto", acme=script) as host:
        assert [each.handle for each in host.registry] == ["acme:refunds"]
        assert host.registry.templates == ()
        (problem,) = host.registry.problems
        assert (problem.rule, problem.severity, problem.label) == (Rule.TEMPLATE, Severity.WARNING, "acme")
        assert message in problem.message


async def test_server_without_templates_is_no_problem() -> None:
    script = honest("refunds")
    assert script.templates is None  # the method is not known
    async with open_host("auto", acme=script) as host:
        assert (len(host.registry), host.registry.problems) == (1, ())


@pytest.mark.rule("H2", "H25")
async def test_endless_list_of_templates_is_cut_off() -> None:
    script = documented()
    numbers = iter(range(1_000_000))

    def page() -> dict[str, Any]:
        own = (f"skill://n{next(numbers)}/{{a}}/SKILL.md" for _ in range(600))
        shown = [{"uriTemplate": uri, "name": "x"} for uri in own]
        return {"resourceTemplates": shown, "nextCursor": str(next(numbers))}

    script.templates = page
    async with open_host("auto", acme=script) as host:
        assert len(host.registry) == 1
        assert len(host.registry.templates) == 1000
        assert "it has more than 1,000 templates of skills" in host.registry.problems[0].message
    assert script.count("resources/templates/list") < 5


@pytest.mark.rule("H2")
async def test_hanging_list_of_templates_delays_no_skill_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.host.dialects.client._TEMPLATE_SECONDS", 0.05)
    script = documented(hanging=frozenset({"resources/templates/list"}))
    async with open_host("auto", acme=script) as host:
        for _ in range(2):
            assert [each.handle for each in (await host.discover())] == ["acme:refunds"]
        assert script.count("resources/templates/list") == 1


@pytest.mark.rule("H1")
async def test_templates_are_requested_only_where_they_may_exist() -> None:
    script = documented(declared=None)
    async with open_host("auto", acme=script) as host:
        assert (len(host.registry), host.registry.templates) == (0, ())
    assert script.asked == []


# Names


@every_era
@pytest.mark.parametrize(
    "name",
    [
        "acme:docs/acme/guide",
        "acme/docs/acme/guide",
        "acme:docs/acme/guide/SKILL.md",
        "acme:/docs/acme/guide/skill.md",
        "acme:docs/%61cme/guide",
        f"acme:{ACME}",
        "acme:skill://docs/acme/guide",
    ],
)
async def test_skill_of_a_template_is_loaded_by_its_label(mode: Any, name: str) -> None:
    async with open_host(mode, person := Person(), acme=(script := documented())) as host:
        session = host.session()
        text = await ask(session, "read_skill", name=name)
        assert text.startswith("The skill `acme:docs/acme/guide`, from the server `acme`.")
        assert "# A" in await ask(session, "read_skill_file", name=name, path="references/a.md")
        assert [each.skill.uri for each in person.loads] == [ACME]
        assert person.loads[0].inspection.files is not None  # they have digests, as those of any skill
    assert script.count("skills/get") == 1


async def test_text_of_a_template_skill_names_another_below_it() -> None:
    notes = {"uriTemplate": "skill://docs/{product}/guide/{topic}/SKILL.md", "name": "n", "description": "N."}
    script = documented(DOCS, notes)
    script.publish("docs/acme/guide/notes")
    note = next(each for each in script.entries if "notes" in each["uri"])
    script.entries = [each for each in script.entries if each is not note]
    script.got = {**script.got, note["uri"]: note}
    async with open_host("auto", Person(), acme=script) as host:
        session = host.session()
        await ask(session, "read_skill", name="acme:docs/acme/guide")
        told = await ask(session, "read_skill_file", name="acme:docs/acme/guide", path="notes/skill.md")
        assert "the skill `acme:docs/acme/guide/notes` is not loaded" in told
        text = await ask(session, "read_skill", name="notes/skill.md")
        assert text.startswith("The skill `acme:docs/acme/guide/notes`, from the server `acme`.")
        text = await ask(session, "read_skill_file", name="acme:docs/acme/guide", path="notes/skill.md")
        assert "Does notes." in text


@every_era
@pytest.mark.parametrize(
    "name",
    ["acme:docs/acme/guide", "acme/docs/acme/guide", "acme:/docs/acme/guide/skill.md", "acme:acme/guide"],
)
async def test_end_of_a_path_finds_a_template_skill(mode: Any, name: str) -> None:
    script = ScriptedServer(
        templates=[{**DOCS, "uriTemplate": "mem://owner/repo/docs/{product}/guide/SKILL.md"}]
    )
    script.publish("owner/repo/docs/acme/guide", scheme="mem")
    (entry,) = script.entries
    script.publish("refunds")
    script.entries, script.got = script.entries[1:], {entry["uri"]: entry}
    async with open_host(mode, Person(), acme=script) as host:
        with pytest.raises(UnknownNameError):
            host.registry.find("acme:guide")
        with pytest.raises(RequestError):
            host.registry.find("docs/acme/guide")
        text = await ask(host.session(), "read_skill", name=name)
        assert text.startswith("The skill `acme:mem://owner/repo/docs/acme/guide`, from the server `acme`.")


@pytest.mark.rule("H10")
@pytest.mark.parametrize("name", ["docs/acme/guide", "guide", "acme/guide", "beta:docs/acme/guide", ACME])
async def test_template_gives_no_name_without_its_label(name: str) -> None:
    async with open_host("auto", Person(), acme=(script := documented()), beta=honest("other")) as host:
        with pytest.raises(RequestError):
            await host.session().load(name)
        assert script.count("skills/get") == 0


@pytest.mark.rule("H10")
async def test_template_that_matches_everything_captures_no_name(tmp_path: Path) -> None:
    write_skill(tmp_path, "review")
    greedy = [
        {"uriTemplate": "skill://{a}/SKILL.md", "name": "a"},
        {"uriTemplate": "skill://{a}/{b}/SKILL.md", "name": "b"},
        {"uriTemplate": "skill://{a}/{b}/{c}/SKILL.md", "name": "c"},
    ]
    evil, good = documented(*greedy), honest("team/orders")
    async with open_host("auto", Person(), None, {"mine": tmp_path}, evil=evil, good=good) as host:
        session = host.session()
        await session.load("evil:refunds")
        for name, handle in (
            ("review", "review"),
            ("mine/review", "review"),
            ("evil:refunds", "evil:refunds"),
            ("evil/refunds", "evil:refunds"),
            ("orders", "good:orders"),
            ("team/orders", "good:orders"),
            ("good/team/orders", "good:orders"),
            ("good:orders/references/guide.md", "good:orders"),
        ):
            found = host.registry.find(name, session.acting[0])
            assert found.skill is not None
            assert found.skill.handle == handle
        for name in ("nothing", "good/nothing", "good:a/b", "mine/nothing", "mine:nothing"):
            with pytest.raises(UnknownNameError) as unknown:
                host.registry.find(name, session.acting[0])
            assert "evil" not in str(unknown.value)
    assert evil.count("skills/get") == 0


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("acme:docs/{product}/guide", "in place of `{product}` in `docs/{product}/guide`"),
        ("docs/{product}/guide", "in place of `{product}` in `docs/{product}/guide`"),
        ("acme:skill://docs/{product}/guide/SKILL.md", "in place of `{product}`"),
        ("acme:guide", "write `docs/{product}/guide` with a value for `{product}`"),
        ("acme/docs/a{b}/guide", "in place of `{product}` in `docs/{product}/guide`"),
        ("acme:users/Not A Name", "write lowercase letters, digits and single hyphens (1-64 characters)"),
    ],
)
async def test_wrong_value_says_which_parameter_and_what_fits(name: str, hint: str) -> None:
    users = {"uriTemplate": "skill://users/{userId}/SKILL.md", "name": "u"}
    async with open_host("auto", Person(), acme=(script := documented(DOCS, users))) as host:
        told = await ask(host.session(), "read_skill", name=name)
        assert told.startswith("error: ")
        assert hint in told
    assert script.count("skills/get") == 0


@pytest.mark.rule("H3")
async def test_value_that_the_server_does_not_know_is_its_error() -> None:
    async with open_host("auto", Person(), acme=documented()) as host:
        told = await ask(host.session(), "read_skill", name="acme:docs/other/guide")
        assert told == ("error: server `acme`: skills/get: the server refused: `unknown skill`")


@pytest.mark.rule("H4", "H5")
async def test_server_cannot_answer_with_another_skill() -> None:
    script = documented()
    script.got = {ACME: script.entries[0]}
    async with open_host("auto", person := Person(), acme=script) as host:
        with pytest.raises(VerificationError, match="another skill"):
            await host.session().load("acme:docs/acme/guide")
        assert person.loads == []


@pytest.mark.rule("H22")
async def test_person_is_asked_before_values_reach_another_server() -> None:
    script = documented()
    person = Person()
    async with open_host("auto", person, acme=script, beta=honest("other")) as host:
        session = host.session()
        await session.load("beta:other")
        person.answer = Answer.NO
        told = await ask(session, "read_skill", name="acme:docs/secret/guide")
        assert told.startswith("error: server `acme`: the user did not approve this read")
        (asked,) = person.foreign_reads
        assert (asked.server, asked.uri) == ("acme", "skill://docs/secret/guide/SKILL.md")
        assert script.count("skills/get") == 0


@pytest.mark.rule("H17")
async def test_skill_of_a_template_is_approved_by_its_content(state: State) -> None:
    state.bind("acme", "https://acme.example/mcp")
    script = documented()
    async with open_host("auto", person := Person(Answer.KEEP), state, acme=script) as host:
        await host.session().load("acme:docs/acme/guide")
        await host.session().load("acme:docs/acme/guide")
        assert len(person.loads) == 1
        script.publish("docs/acme/guide", {"references/a.md": b"# B\n"})
        script.entries, script.got = script.entries[:1], {ACME: script.entries[1]}
        session = host.session()
        await session.load("acme:docs/acme/guide")
        with pytest.raises(ChangedError):
            await session.read_file("acme:docs/acme/guide", "references/a.md")
        await session.load("acme:docs/acme/guide")
        assert len(person.loads) == 2
        assert not host.why_not_bridged(host.registry.resolve(f"acme:{ACME}"))


async def test_dynamic_skill_of_a_template_is_asked_about_each_time() -> None:
    script = documented()
    script.got[ACME]["resources"] = "dynamic"  # pyright: ignore[reportIndexIssue]
    async with open_host("auto", person := Person(), acme=script) as host:
        for _ in range(2):
            await host.session().load("acme:docs/acme/guide")
        assert len(person.loads) == 2


@pytest.mark.rule("H9")
def test_two_templates_at_one_path_are_told_apart() -> None:
    registry = Registry(templates=[hosted("skill://a/{p}/SKILL.md"), hosted("git://a/{p}/SKILL.md")])
    assert [each.handle for each in registry.templates] == [
        "acme:skill://a/{p}/SKILL.md",
        "acme:git://a/{p}/SKILL.md",
    ]
    with pytest.raises(AmbiguousNameError) as caught:
        registry.find("acme:a/x")
    assert caught.value.handles == ["acme:skill://a/x/SKILL.md", "acme:git://a/x/SKILL.md"]
    for handle in caught.value.handles:
        assert registry.find(handle) == HostReference(("acme", handle.removeprefix("acme:")), None)


@pytest.mark.rule("H10")
def test_text_of_a_skill_names_skills_of_its_server() -> None:
    base = hosted_skill("acme", skill_claim())
    registry = Registry([base], templates=[hosted(str(DOCS["uriTemplate"]))], labels=["beta"])
    base = registry.skills[0]
    for text in ("/docs/acme/guide/SKILL.md", "docs/acme/guide", ACME):
        assert registry.find(text, base) == HostReference(("acme", ACME), None)
    other = hosted_skill("beta", skill_claim(name="other"))
    for text in ("/docs/acme/guide/SKILL.md", "docs/acme/guide", ACME):
        with pytest.raises(RequestError):
            registry.find(text, other)


SEGMENTS = st.sampled_from(["a", "b", "{p}", "{userId}", "docs"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=3).filter(lambda parts: any("{" in part for part in parts))
WORDS = st.sampled_from(["a", "b", "docs", "x y", "..", "{p}", "a%2fb", "one", "two", "SKILL.md", ""])


@pytest.mark.rule("H9", "H10")
@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["one", "two"]), PATHS), max_size=6),
    st.lists(WORDS, min_size=1, max_size=4).map("/".join),
    st.sampled_from(["", "one:", "one/", "one:skill://"]),
)
def test_no_template_is_found_under_another_label(
    found: list[tuple[str, list[str]]], path: str, prefix: str
) -> None:
    uris = [(label, f"skill://{'/'.join(parts)}/SKILL.md") for label, parts in found]
    templates = [hosted(uri, label) for label, uri in dict.fromkeys(uris)]
    registry = Registry([hosted_skill("one", skill_claim())], labels=["one", "two"], templates=templates)
    try:
        meant = registry.find(f"{prefix}{path}")
    except RequestError:
        return
    if meant.skill is None:
        assert prefix or path.lstrip("/").startswith(("one/", "two/"))
        label, uri = meant.identity
        assert label == (prefix.rstrip(":/skil") or path.lstrip("/").partition("/")[0])
        claims = [each.claim for each in templates if each.label == label and each.claim is not None]
        assert "://" in prefix or any(each.match(uri) is not None for each in claims)


# Own templates


async def test_own_templates_need_no_approval() -> None:
    async def guide(request: SkillRequest) -> str:
        return f"# Guide to {request.params['product']}\n"

    live = LiveSkill(
        "docs/{product}/guide", guide, description="Guide.", values={"product": ["acme", "beta"]}
    )
    source = CodeSource(Skills().add(live), label="mine")
    async with Host(sources=[source], approve=(person := Person())) as host:
        await host.discover()
        (template,) = host.registry.templates
        assert (template.handle, template.local) == ("mine:docs/{product}/guide", True)
        assert 'parameters="product: one of acme, beta"' in host.session().catalog_prompt()
        for name in ("docs/acme/guide", "mine:docs/acme/guide", "mine/docs/acme/guide"):
            assert "# Guide to acme" in (await host.session().load(name)).text
        with pytest.raises(UnknownNameError, match=r"write one of `acme`, `beta` in place of `\{product\}`"):
            await host.session().load("docs/other/guide")
        assert await host.complete(template, "product") == ["acme", "beta"]
    assert person.asked == []


# Completion


async def test_suggested_values_are_bounded_and_readable() -> None:
    values: list[Any] = [
        "acme",
        "a\u202eb",
        "x" * 200,
        "a\nb",
        "a/b",
        "{a}",
        "..",
        "ok",
        *map(str, range(90)),
    ]
    script = documented(completions={"product": values})
    async with open_host("auto", acme=script) as host:
        (template,) = host.registry.templates
        found = await host.complete(template, "product", "a")
        assert found[:3] == ["acme", "ok", "0"]
        assert len(found) <= 100
        host.session().catalog_prompt()
        with pytest.raises(UnavailableError):
            await host.complete(template, "other")
    assert script.count("completion/complete") == 2
    async with open_host("auto", acme=(plain := documented())) as host:
        assert await host.complete(host.registry.templates[0], "product") == []
    assert plain.count("completion/complete") == 0


async def test_no_values_are_requested_for_a_model() -> None:
    script = documented(completions={"product": ["acme"]})
    async with open_host("auto", Person(), acme=script) as host:
        session = host.session()
        session.catalog_prompt()
        for name in ("acme:docs/{product}/guide", "acme:docs/x/guide", "acme:docs/acme/guide"):
            await ask(session, "read_skill", name=name)
    assert script.count("completion/complete") == 0


async def test_hanging_completion_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.host.places._COMPLETION_SECONDS", 0.05)
    hanging = frozenset({"completion/complete"})
    async with open_host("auto", acme=documented(completions={}, hanging=hanging)) as host:
        with pytest.raises(UnavailableError, match="suggested no values"):
            await host.complete(host.registry.templates[0], "product")


# Earlier drafts


def indexed(**more: Any) -> ScriptedServer:
    """Return a server of draft A with a template in its index, and a document that the template describes."""
    script = ScriptedServer(declared=None, methods=False, **more)
    script.publish("docs/acme/guide")
    index = b'{"skills": [{"type": "mcp-resource-template", "url": "skill://docs/{product}/guide/SKILL.md"}]}'
    script.entries, script.files = [], {**script.files, "skill://index.json": index}
    return script


async def test_template_of_a_draft_is_loaded_from_its_document() -> None:
    async with open_drafts(indexed(), person := Person()) as host:
        (template,) = host.registry.templates
        assert template.claim is not None
        assert (template.handle, template.claim.dialect.value) == ("acme:docs/{product}/guide", "draft-a")
        text = await ask(host.session(), "read_skill", name="acme:docs/acme/guide")
        assert "# Steps" in text
        assert [each.skill.files for each in person.loads] == [None]
        assert not person.loads[0].can_be_kept
        told = await ask(host.session(), "read_skill", name="acme:docs/other/guide")
        assert told.startswith("error: server `acme`: ")


async def test_server_with_only_templates_is_not_guessed_about() -> None:
    resources = [{"uri": "skill://guess/SKILL.md", "name": "g"}]
    for script in (indexed(resources=resources), ScriptedServer(templates=[DOCS], resources=resources)):
        async with open_drafts(script) as host:
            assert [each.handle for each in host.registry] == []
            assert [each.path for each in host.registry.templates] == ["docs/{product}/guide"]
        assert script.count("resources/list") == 0


async def test_our_own_server_offers_its_templates_to_a_host() -> None:
    async def guide(request: SkillRequest) -> str:
        return f"# Guide to {request.params['product']}\n"

    live = LiveSkill(
        "docs/{product}/guide", guide, description="Guide.", values={"product": ["acme", "beta"]}
    )
    async with Client(SkillServer("s").add(live).build()) as client:
        source = ServerSource(ConnectedServer("acme", client, limits=Limits()))
        async with Host(sources=[source], approve=Person()) as host:
            await host.discover()
            (template,) = host.registry.templates
            assert template.handle == "acme:docs/{product}/guide"
            assert await host.complete(template, "product") == ["acme", "beta"]
            assert "# Guide to acme" in (await host.session().load("acme:docs/acme/guide")).text
            told = await ask(host.session(), "read_skill", name="acme:docs/other/guide")
            assert told.startswith("error: server `acme`: ")


ODD_VALUES = ["50%", "%", "a b", "größe", "a:b", "a?b#c", "it's", "skill:", "SKILL.md", "+", "%zz"]


async def test_every_suggested_value_names_a_skill() -> None:
    async def guide(request: SkillRequest) -> str:
        return f"# Guide to {request.params['product']}\n"

    live = LiveSkill("docs/{product}/guide", guide, description="Guide.", values={"product": ODD_VALUES})
    async with Client(SkillServer("s").add(live).build()) as client:
        source = ServerSource(ConnectedServer("acme", client, limits=Limits()))
        async with Host(sources=[source], approve=Person()) as host:
            await host.discover()
            (template,) = host.registry.templates
            assert await host.complete(template, "product") == ODD_VALUES
            for value in ODD_VALUES:
                for name in (f"acme:docs/{value}/guide", f"acme:docs/{quote(value, safe='')}/guide"):
                    assert f"# Guide to {value}\n" in (await host.session().load(name)).text, name
