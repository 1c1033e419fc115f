"""What a frontmatter asks for beyond being read. Of a server's skill nothing of it has an effect (H21)."""

from skillwire.model.plain import plain
from skillwire.skillmd.rules import tools_in
from skillwire.wire.remote import RemoteSkill

ALLOWED_TOOLS = "allowed-tools"
_DESCRIBING = frozenset(
    {
        "name",
        "description",
        "license",
        "compatibility",
        "metadata",
        "disable-model-invocation",
        "user-invocable",
    }
)
"""Fields that only describe a skill, or narrow who may start it."""
_SHOWN = 200
_SHOWN_WISHES = 50


def wanted_tools(skill: RemoteSkill) -> frozenset[str]:
    """Return the tools that a skill would like to use without a question."""
    value = skill.frontmatter.get(ALLOWED_TOOLS)
    if isinstance(value, str):
        return frozenset(tools_in(value))
    items = value if isinstance(value, list) else []
    return frozenset(item for item in items if isinstance(item, str))


def wishes(skill: RemoteSkill) -> tuple[str, ...]:
    """Return everything in a frontmatter that may be meant to have an effect, for a person to read."""
    tools = [f"{ALLOWED_TOOLS}: {plain(tool, _SHOWN)}" for tool in sorted(wanted_tools(skill))]
    others = [plain(key, _SHOWN) for key in skill.frontmatter if key not in {*_DESCRIBING, ALLOWED_TOOLS}]
    return tuple([*tools, *others][:_SHOWN_WISHES])


def is_for_models(skill: RemoteSkill) -> bool:
    """Whether a model may begin with it by itself."""
    return skill.frontmatter.get("disable-model-invocation") is not True
