"""Check a frontmatter against the repository contract, and list the fields that are wrong."""

from skillwire.contract import validate_skill_frontmatter
from skillwire.errors import ContractError

good = {
    "name": "refunds",
    "description": "Decides and prepares refunds.",
    "x-skillwire": {
        "id": "refunds",
        "version": "1.4.0",
        "tags": ["billing"],
        "capabilities": ["resource://skills/refunds/document"],
    },
}
skill = validate_skill_frontmatter(good, "refunds")
assert (skill.id, skill.version, skill.tags) == ("refunds", "1.4.0", ("billing",))

wrong: list[str] = []
try:
    validate_skill_frontmatter({**good, "x-skillwire": {"version": 1.0}}, "refunds")
except ContractError as group:
    wrong = [problem.field for problem in group.problems]
assert wrong == ["x-skillwire.id", "x-skillwire.version", "x-skillwire.capabilities"]
