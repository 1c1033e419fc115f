"""Which skill a name means, when several places have skills of that name."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import Problem
from skillwire.errors import RequestError
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.registry import HostReference, NoLabelError, Registry
from skillwire.library.names import AmbiguousNameError, UnknownNameError
from skillwire.protocol.claims import SkillClaim
from skillwire.sources import Rule, Severity
from tests.support.hosts import Person, honest, open_host
from tests.support.skill_claims import file_claim, hosted_skill
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio


def skill(label: str, path: str, *, local: bool = False, scheme: str = "skill") -> HostedSkill:
    name = path.rpartition("/")[2]
    uri = f"{scheme}://{path}/SKILL.md"
    claim = SkillClaim(uri, {"name": name, "description": "x"}, None)
    return hosted_skill(label, claim, local=local)


def handles(*skills: HostedSkill) -> list[str]:
    return [each.handle for each in Registry(skills)]


@pytest.mark.rule("H10")
def test_unlisted_skill_renames_no_listed_skill() -> None:
    registry = Registry([skill("acme", "team/guide"), skill("mine", "notes/plan", local=True)])
    for each in (
        skill("acme", "docs/a/guide"),
        skill("acme", "docs/b/guide"),
        skill("acme", "guide"),
        skill("mine", "plan", local=True),
    ):
        registry = registry.having(each)
        registry = registry.having(each)  # a new version of it
    assert [each.handle for each in registry] == [
        "acme:guide",
        "plan",
        "acme:docs/a/guide",
        "acme:docs/b/guide",
        "acme:skill://guide",
        "mine:plan",
    ]
    for each in registry:
        assert registry.resolve(each.handle).identity == each.identity
    assert registry.resolve("guide").handle == "acme:guide"
    assert registry.resolve("docs/a/guide").handle == "acme:docs/a/guide"
    assert registry.problems == ()


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
def test_uri_without_a_label_means_the_only_skill() -> None:
    registry = Registry([skill("acme", "refunds")])
    for uri in ("skill://refunds/SKILL.md", "skill://refunds", "skill://refunds/skill.md"):
        assert registry.resolve(uri).handle == "acme:refunds"
    with pytest.raises(NoLabelError, match="write `LABEL:URI`"):
        registry.resolve("skill://nowhere/SKILL.md")
    with pytest.raises(NoLabelError, match=r"write `acme:skill://nowhere/SKILL\.md`"):
        registry.find("skill://nowhere/SKILL.md", registry.resolve("refunds"))
    labelled = Registry([skill("skill", "refunds")])  # a label may be spelled as a scheme is
    assert labelled.resolve("skill:skill://refunds/SKILL.md").label == "skill"


@pytest.mark.rule("H9", "H10")
def test_shared_uri_means_the_skill_of_the_loaded_server() -> None:
    one, two, uri = skill("one", "refunds"), skill("two", "refunds"), "skill://refunds/SKILL.md"
    other = skill("two", "other")
    registry = Registry([one, two, other])
    with pytest.raises(NoLabelError, match="write `one:refunds` or `two:refunds`"):
        registry.find(uri)
    assert registry.find(uri, other).identity == two.identity
    with pytest.raises(NoLabelError):  # it is of neither
        registry.find(uri, skill("three", "x"))
    own = Registry([skill("mine", "refunds", local=True), two, other])
    with pytest.raises(NoLabelError, match="write `refunds` or `two:refunds`"):
        own.find(uri, other)


FILES = ("references/guide.md", "files/SKILL.md")


def with_files(label: str, path: str, *, local: bool = False) -> HostedSkill:
    name, uri = path.rpartition("/")[2], f"skill://{path}/SKILL.md"
    files = tuple(file_claim(f"skill://{path}/{file}", b"x") for file in ("SKILL.md", *FILES))
    return hosted_skill(label, SkillClaim(uri, {"name": name, "description": "x"}, files), local=local)


def meaning(found: HostReference) -> str:
    assert found.skill is not None
    return f"{found.skill.handle} {found.path}".strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("review", "acme:review"),
        ("acme:review", "acme:review"),
        ("acme:workspace/review", "acme:review"),
        ("acme/workspace/review", "acme:review"),
        ("acme/review/SKILL.md", "acme:review"),
        ("ACME/review", "acme:review"),
        ("/workspace/review/SKILL.md", "acme:review"),
        ("workspace/review/skill.md", "acme:review"),
        ("acme:skill://workspace/review", "acme:review"),
        ("skill://workspace/review/", "acme:review"),
        ("acme:review/references/guide.md", "acme:review references/guide.md"),
        ("acme/review/references/guide.md", "acme:review references/guide.md"),
        ("/workspace/review/references/guide.md", "acme:review references/guide.md"),
        ("review/references", "acme:review references"),
        ("skill://workspace/review/references/guide.md", "acme:review references/guide.md"),
        ("acme:skill://workspace/review/references", "acme:review references"),
        ("/workspace/review/files/skill.md", "acme:review files/SKILL.md"),
        ("acme/review/files/skill.md", "acme:review files/SKILL.md"),
    ],
)
def test_every_spelling_finds_the_same_skill_or_file(text: str, expected: str) -> None:
    registry = Registry([with_files("acme", "workspace/review"), with_files("beta", "deep/other")])
    assert meaning(registry.find(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        ":",
        "acme:",
        "acme:..",
        "acme:workspace/../review",
        "beta:workspace/review",
        "beta/review",
        "acme:work/review",
        "gamma:review",
        "x" * 5000,
        "acme:%2e%2e/review",
        "acme:rev\u200biew",
    ],
)
def test_what_names_nothing_is_unknown(text: str) -> None:
    registry = Registry([with_files("acme", "workspace/review"), with_files("beta", "deep/other")])
    with pytest.raises(UnknownNameError):
        registry.find(text)


@pytest.mark.rule("H3", "H9")
def test_labelled_uri_of_an_unlisted_skill_needs_its_server() -> None:
    registry = Registry([skill("acme", "review")], labels=["beta"])
    for text in ("beta:skill://review/SKILL.md", "beta:skill://review", "beta:skill://review/skill.md"):
        assert registry.find(text) == HostReference(("beta", "skill://review/SKILL.md"), None)
    with pytest.raises(UnknownNameError):
        registry.find("gamma:skill://review/SKILL.md")


@pytest.mark.rule("H10", "H18")
def test_reference_relative_to_a_skill_finds_its_neighbours() -> None:
    nested = skill("acme", "workspace/review/files")
    base, twin = with_files("acme", "workspace/review"), with_files("beta", "workspace/review")
    registry = Registry([base, twin, nested])
    base, twin = registry.skill(base.identity), registry.skill(twin.identity)
    assert meaning(registry.find("files/skill.md", base)) == "acme:files"  # a skill, not only a file
    assert meaning(registry.find("references/guide.md", base)) == "acme:review references/guide.md"
    assert meaning(registry.find("references/guide.md", twin)) == "beta:review references/guide.md"
    assert meaning(registry.find("/workspace/review/SKILL.md", twin)) == "beta:review"
    with pytest.raises(AmbiguousNameError) as caught:
        registry.find("/workspace/review/references/guide.md")
    assert caught.value.handles == ["acme:review/references/guide.md", "beta:review/references/guide.md"]
    for handle in caught.value.handles:
        assert meaning(registry.find(handle)).endswith(" references/guide.md")
    with pytest.raises(AmbiguousNameError):  # a bare name means the same, whatever is loaded
        registry.find("review", base)


@pytest.mark.rule("H10")
def test_loaded_server_skill_takes_no_name_from_own_skills() -> None:
    base, trap = skill("evil", "base"), skill("evil", "base/team/refunds")
    own = skill("mine", "team/refunds", local=True)
    registry = Registry([base, trap, own])
    for text in ("refunds", "team/refunds", "team/refunds/SKILL.md", "/team/refunds"):
        assert registry.resolve(text, base).local
    assert registry.find_beside("team/refunds/SKILL.md", base) == HostReference(
        trap.identity, registry.skills[1]
    )


def test_first_own_folder_keeps_the_bare_name() -> None:
    first, second = skill("one", "deploy", local=True), skill("two", "deploy", local=True)
    registry = Registry([first, second, skill("acme", "deploy")])
    assert [each.handle for each in registry] == ["deploy", "two:deploy", "acme:deploy"]
    assert registry.resolve("deploy").label == "one"
    assert str(registry.problems[0]).endswith("`deploy` alone means that of the folder `one`")


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
        document = f"{each.handle}/SKILL.md" if ":" in each.handle else each.handle
        for text in (document, f"{each.label}:{each.uri}", f"{each.label}:{each.root}"):
            assert registry.resolve(text).identity == each.identity, text
        try:
            bare = registry.resolve(each.name)
        except RequestError:
            continue
        assert bare.local or not any(other.local for other in registry if other.name == each.name)


@pytest.mark.rule("H9", "H10")
@settings(max_examples=200, deadline=None)
@given(
    _SKILLS,
    st.sampled_from(["one", "two", "mine"]),
    st.sampled_from([":", "/"]),
    st.lists(_SEGMENT | st.sampled_from(["n", "m", "one", "two", "SKILL.md", "..", ""])).map("/".join),
    st.integers(0, 12),
)
def test_nothing_of_a_label_is_found_under_another(
    found: list[tuple[str, list[str], str, str]], label: str, separator: str, rest: str, at: int
) -> None:
    skills = {
        each.identity: each
        for owner, prefix, name, scheme in found
        for each in [skill(owner, "/".join([*prefix, name]), local=owner == "mine", scheme=scheme)]
    }
    registry = Registry(skills.values(), labels=["one", "two", "mine"])
    bases = [None, *registry]
    try:
        meant = registry.find(f"{label}{separator}{rest}", bases[at % len(bases)])
    except RequestError:
        return
    assert meant.skill is not None
    # A path that begins with a label may be that of an own skill, too: nothing shadows those.
    assert meant.skill.label == label or (separator == "/" and meant.skill.local)


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
