"""Agent Skills over the Model Context Protocol.

The values that authors write are here: `Skill`, `SkillReference`, `LiveSkill` with its `SkillRequest`,
`Skills`, and `AuthoringError`. They never load the MCP SDK; what serves them is in `skillwire.server`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillwire.authoring.live import LiveSkill, SkillRequest
    from skillwire.authoring.registry import Skills
    from skillwire.authoring.rules import AuthoringError
    from skillwire.authoring.skill import Skill, SkillReference

__version__ = "0.1.0"
__all__ = [
    "AuthoringError",
    "LiveSkill",
    "Skill",
    "SkillReference",
    "SkillRequest",
    "Skills",
    "__version__",
]

_OWNERS = {
    "AuthoringError": "skillwire.authoring.rules",
    "LiveSkill": "skillwire.authoring.live",
    "Skill": "skillwire.authoring.skill",
    "SkillReference": "skillwire.authoring.skill",
    "SkillRequest": "skillwire.authoring.live",
    "Skills": "skillwire.authoring.registry",
}


def __getattr__(name: str) -> Any:
    """Load a value when it is asked for: who only wants the version pays for nothing else."""
    if name not in _OWNERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_OWNERS[name]), name)
