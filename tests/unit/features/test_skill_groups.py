"""Groups of skills that followed changes are the groups of all skills."""

from hypothesis import given
from hypothesis import strategies as st

from skillwire.features.skill_groups import SkillGroups

SEGMENTS = st.sampled_from(["a", "b", "azure-x", "azure-y", "für"])
URIS = st.lists(SEGMENTS, min_size=1, max_size=3).map(lambda parts: f"skill://{'/'.join(parts)}/SKILL.md")
SETS = st.sets(URIS, max_size=12)


def shown(groups: SkillGroups) -> list[str]:
    return list(groups.shown(lambda uri: uri, lambda label: label))


@given(SETS, st.lists(st.tuples(SETS, SETS), max_size=4))
def test_updated_groups_equal_new_ones(uris: set[str], changes: list[tuple[set[str], set[str]]]) -> None:
    groups = SkillGroups(uris)
    for gone, new in changes:
        removed = gone & uris
        added = new - (uris - removed)
        groups = groups.updated(removed - added, added - removed)
        uris = (uris - removed) | added
        assert shown(groups) == shown(SkillGroups(uris))


def test_folder_of_all_skills_is_no_group() -> None:
    paths = ["acme/x/1", "acme/x/2", "acme/y/1", "acme/y/2", "acme/y/3", "acme/z-1", "acme/z-2", "acme/alone"]
    uris = [f"skill://{path}/SKILL.md" for path in paths]
    assert shown(SkillGroups(uris)) == [
        "acme/y/ (3)",
        "acme/x/ (2)",
        "z-* (2)",
        "skill://acme/alone/SKILL.md",
    ]
