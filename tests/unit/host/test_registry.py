"""Which skill a name means, when several places have skills of that name."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import Problem
from skillwire.errors import RequestError
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.registry import NoLabelError, Registry
from skillwire.library.names import AmbiguousNameError, UnknownNameError
from skillwire.protocol.remote import SkillClaim
from skillwire.sources import Rule, Severity
from tests.support.hosts import Person, honest, open_host
from tests.support.skill_claims import hosted_skill
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio


def skill(label: str, path: str, *, local: bool = False, scheme: str = "skill") -> HostedSkill:
    name = path.rpartition("/")[2]
    uri = f"{scheme}://{path}/SKILL.md"
    claim = SkillClaim(uri, {"name": name, "description": "x"}, None)
    return hosted_skill(label, claim, local=local)


def handles(*skills: HostedSkill) -> list[str]:
    return [each.handle for each in Registry(skills)]


@pytest.mark.rule("H9", "H10")
def test_server_skill_path_cannot_imitate_another_label() -> None:
    evil, other = skill("acme", "mine/refunds"), skill("acme", "acme/orders")
    for registry in (
        Registry([skill("mine", "orders", local=True), evil, other]),
        Registry([evil, other], labels=["mine", "acme"]).having(skill("acme", "more")),
    ):
        with pytest.raises(UnknownNameError):
            registry.resolve("mine/refunds")
        assert registry.resolve("acme:mine/refunds").identity == evil.identity
        assert registry.resolve("acme/orders").identity == other.identity
    assert Registry([evil]).resolve("mine/refunds").identity == evil.identity


@pytest.mark.rule("H10")
def test_server_skills_are_labelled_and_own_skills_are_not() -> None:
    registry = Registry([skill("mine", "orders", local=True), skill("acme", "refunds")])
    assert [each.handle for each in registry] == ["orders", "acme:refunds"]
    for name in ("refunds", "acme:refunds", "acme:skill://refunds", "acme:skill://refunds/SKILL.md"):
        assert registry.resolve(name).handle == "acme:refunds"
    assert registry.resolve("mine:orders").handle == "orders"
    assert registry.problems == ()


@pytest.mark.rule("H10")
def test_own_skill_wins_a_name_clash_which_is_reported() -> None:
    registry = Registry([skill("acme", "refunds"), skill("mine", "refunds", local=True)])
    assert registry.resolve("refunds").local is True
    assert registry.resolve("acme:refunds").local is False
    (told,) = registry.problems
    assert str(told) == (
        "2 skills share the name `refunds`: `acme:refunds` (server `acme`), `refunds` (folder `mine`); "
        "`refunds` alone means your own"
    )


@pytest.mark.rule("H10")
def test_own_skill_wins_a_path_clash() -> None:
    registry = Registry([skill("acme", "team/refunds"), skill("mine", "team/refunds", local=True)])
    assert registry.resolve("team/refunds").label == "mine"
    assert registry.resolve("acme:team/refunds").label == "acme"


@pytest.mark.rule("H10")
def test_name_shared_by_two_servers_is_ambiguous() -> None:
    registry = Registry([skill("acme", "refunds"), skill("evil", "x/refunds")])
    with pytest.raises(AmbiguousNameError, match="use one of: `acme:refunds`, `evil:refunds`"):
        registry.resolve("refunds")
    assert registry.resolve("x/refunds").label == "evil"
    assert [str(each).partition(";")[2] for each in registry.problems] == [" the name alone is ambiguous"]


@pytest.mark.rule("H10")
def test_same_named_skills_of_one_server_get_different_handles() -> None:
    twins = [skill("acme", "a/twin"), skill("acme", "b/twin"), skill("acme", "twin")]
    assert handles(*twins) == ["acme:a/twin", "acme:b/twin", "acme:skill://twin"]
    registry = Registry(twins)
    for name in ("twin", "acme:twin"):
        with pytest.raises(AmbiguousNameError):
            registry.resolve(name)
    assert [registry.resolve(each.handle).uri for each in registry] == [each.uri for each in twins]


@pytest.mark.rule("H10", "H27")
def test_invisible_differences_give_different_ascii_handles() -> None:
    registry = Registry(
        [skill("a", "x/twin"), skill("a", "x\u200b/twin"), skill("a", "x/twin", scheme="other\u202e")]
    )
    assert len({each.handle for each in registry}) == 3
    assert all(each.handle.isascii() for each in registry)
    assert {registry.resolve(each.handle).uri for each in registry} == {each.uri for each in registry}


@pytest.mark.rule("H9")
def test_uri_without_a_label_is_refused() -> None:
    registry = Registry([skill("acme", "refunds")])
    with pytest.raises(NoLabelError, match="write `acme:refunds`"):
        registry.resolve("skill://refunds/SKILL.md")
    with pytest.raises(NoLabelError, match="write `LABEL:URI`"):
        registry.resolve("skill://nowhere/SKILL.md")
    labelled = Registry([skill("skill", "refunds")])  # a label may be spelled as a scheme is
    with pytest.raises(NoLabelError):
        labelled.resolve("skill://refunds/SKILL.md")
    assert labelled.resolve("skill:skill://refunds/SKILL.md").label == "skill"


@pytest.mark.rule("H9")
def test_same_uri_on_two_servers_is_two_skills() -> None:
    registry = Registry([skill("one", "x"), skill("two", "x")])
    assert [registry.skill((label, "skill://x/SKILL.md")).label for label in ("one", "two")] == ["one", "two"]
    assert registry.get(("three", "skill://x/SKILL.md")) is None


def test_unknown_name_suggests_the_closest_names() -> None:
    registry = Registry([skill("acme", "refunds")])
    with pytest.raises(UnknownNameError, match=r"did you mean `acme:refunds`\?"):
        registry.resolve("acme:refund")
    with pytest.raises(UnknownNameError):
        registry.resolve("evil:refunds")


def test_updated_entry_replaces_the_old_one_and_problems_stay() -> None:
    problem = Problem("", Rule.TIMEOUT, Severity.ERROR, "no", label="evil")
    before = Registry([skill("acme", "x"), skill("acme", "y")], [problem])
    fresh = SkillClaim("skill://x/SKILL.md", {"name": "x", "description": "new"}, None)
    after = before.having(hosted_skill("acme", fresh))
    assert [each.description for each in after] == ["new", "x"]
    assert after.problems == before.problems
    assert before.resolve("x").description == "x"


@pytest.mark.rule("H10")
def test_excess_name_clashes_are_only_counted() -> None:
    names = [f"skill-{number}" for number in range(300)]
    registry = Registry(skill(label, name) for label in ("one", "two") for name in names)
    assert len(registry.problems) == 201
    assert str(registry.problems[-1]) == "100 more names are shared by several skills"


_SEGMENT = st.sampled_from(["a", "b", "a\u200b", "%61", "x y"])
_SKILLS = st.lists(
    st.tuples(
        st.sampled_from(["one", "two", "mine"]),
        st.lists(_SEGMENT, max_size=2),
        st.sampled_from(["n", "m"]),
        st.sampled_from(["skill", "git"]),
    ),
    max_size=12,
)


@pytest.mark.rule("H9", "H10")
@given(_SKILLS)
def test_every_skill_has_a_unique_handle(
    found: list[tuple[str, list[str], str, str]],
) -> None:
    skills = {
        each.identity: each
        for label, prefix, name, scheme in found
        for each in [skill(label, "/".join([*prefix, name]), local=label == "mine", scheme=scheme)]
    }
    registry = Registry(skills.values())
    assert {each.identity for each in registry} == set(skills)
    assert len({each.handle for each in registry}) == len(skills)
    for each in registry:
        assert registry.resolve(each.handle).identity == each.identity
        try:
            bare = registry.resolve(each.name)
        except RequestError:
            continue
        assert bare.local or not any(other.local for other in registry if other.name == each.name)


@pytest.mark.rule("H10")
async def test_own_skill_loads_despite_a_same_named_server_skill(tmp_path: Path) -> None:
    write_skill(tmp_path, "refunds")
    person = Person()
    async with open_host("auto", person, None, {"mine": tmp_path}, acme=honest("refunds")) as host:
        session = host.session()
        reading = await session.load("refunds")
        assert (reading.label, person.asked) == ("mine", [])
        assert (await session.load("acme:refunds")).label == "acme"
        assert [each.skill.handle for each in person.loads] == ["acme:refunds"]
        assert "folder `mine`" in (await session.read_file("refunds", "SKILL.md")).text
        session.release("refunds")  # and what is loaded of another never answers to that name
        with pytest.raises(RequestError, match="`refunds` is not loaded"):
            await session.read_file("refunds", "SKILL.md")
