"""The limits of clients: one table with the value, the source and the date of each limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of a client."""

    client: str
    what: str
    value: int
    unit: str
    source: str
    """Where the limit is documented, or the code or report that shows it."""
    checked: str
    """The date of that report, or the day on which the page or code was read: `YYYY-MM-DD`."""


CLAUDE_CODE, CODEX, CHATGPT, VSCODE, SKILLWIRE = "claude-code", "codex", "chatgpt", "vscode", "skillwire"
CLIENTS = (CLAUDE_CODE, CODEX, CHATGPT, VSCODE, SKILLWIRE)

_CLAUDE_SKILLS = "https://code.claude.com/docs/en/skills"
_CLAUDE_MCP = "https://code.claude.com/docs/en/mcp, https://github.com/anthropics/claude-code/issues/"
_CODEX = "https://github.com/openai/codex/blob/"
_CHATGPT = "https://developers.openai.com/plugins/build/mcp-server#import-skills-from-the-mcp-server"
_VSCODE = (
    "https://github.com/microsoft/vscode/blob/main/src/vs/workbench/contrib/chat/common/promptSyntax/"
    "service/promptsServiceImpl.ts"
)

# Claude Code documents "2KB"; reports about versions 2.1.220 and 2.1.234 measure 2,048 characters.
INSTRUCTIONS = Limit(
    CLAUDE_CODE, "server instructions", 2_048, "characters", f"{_CLAUDE_MCP}81268", "2026-07-26"
)
TOOL_DESCRIPTION = Limit(
    CLAUDE_CODE, "description of a tool", 2_048, "characters", f"{_CLAUDE_MCP}87650", "2026-08-18"
)
LIST_SHARE = Limit(CLAUDE_CODE, "list of skills", 1, "% of the context window", _CLAUDE_SKILLS, "2026-09-10")
LISTED_DESCRIPTION = Limit(
    CLAUDE_CODE, "description with `when_to_use`", 1_536, "characters", _CLAUDE_SKILLS, "2026-09-10"
)
# Its documentation gave 8,000 characters as the budget for an unknown window, which is 1 % of this window.
CLAUDE_WINDOW = Limit(CLAUDE_CODE, "usual context window", 200_000, "tokens", _CLAUDE_SKILLS, "2026-09-10")
CODEX_SHARE = Limit(
    CODEX,
    "list of skills",
    2,
    "% of the context window",
    f"{_CODEX}0899b7c42bf1/codex-rs/core-skills/src/render.rs",
    "2026-11-19",
)
CODEX_LIST = Limit(
    CODEX,
    "list of skills if the window is unknown",
    8_000,
    "characters",
    f"{_CODEX}0899b7c42bf1/codex-rs/core-skills/src/render.rs",
    "2026-11-19",
)
CODEX_DESCRIPTION = Limit(
    CODEX,
    "description of a skill",
    1_024,
    "characters",
    f"{_CODEX}033d1d0741d6/codex-rs/core-skills/src/loader.rs, https://github.com/cashfree/agent-skills/pull/34",
    "2026-08-31",
)
CODEX_NAME = Limit(
    CODEX,
    "name of a skill",
    64,
    "characters",
    f"{_CODEX}033d1d0741d6/codex-rs/core-skills/src/loader.rs",
    "2026-11-19",
)
CODEX_VISIBLE = Limit(
    CODEX,
    "skills of one connected app",
    100,
    "skills",
    f"{_CODEX}1043025eb040/codex-rs/ext/skills/src/provider/orchestrator.rs",
    "2026-11-19",
)
CODEX_VISIBLE_LIST = Limit(
    CODEX,
    "list of skills with those of connected apps",
    8_000,
    "characters",
    f"{_CODEX}1dbce876b3cf/codex-rs/ext/skills/src/render.rs",
    "2026-11-19",
)
CHATGPT_SKILLS = Limit(CHATGPT, "skills of one import", 5, "skills", _CHATGPT, "2026-09-15")
CHATGPT_FILES = Limit(CHATGPT, "files of one skill", 100, "files", _CHATGPT, "2026-09-15")
CHATGPT_MAIN = Limit(CHATGPT, "`SKILL.md`", 256 * 1024, "bytes", _CHATGPT, "2026-09-15")
CHATGPT_FILE = Limit(CHATGPT, "any other file", 1024 * 1024, "bytes", _CHATGPT, "2026-09-15")
CHATGPT_BYTES = Limit(CHATGPT, "all files of one skill", 5 * 1024 * 1024, "bytes", _CHATGPT, "2026-09-15")
VSCODE_DESCRIPTION = Limit(VSCODE, "description of a skill", 1_024, "characters", _VSCODE, "2026-11-19")
VSCODE_NAME = Limit(VSCODE, "name of a skill", 64, "characters", _VSCODE, "2026-11-19")

LIMITS = (
    INSTRUCTIONS,
    TOOL_DESCRIPTION,
    LIST_SHARE,
    LISTED_DESCRIPTION,
    CLAUDE_WINDOW,
    CODEX_SHARE,
    CODEX_LIST,
    CODEX_DESCRIPTION,
    CODEX_NAME,
    CODEX_VISIBLE,
    CODEX_VISIBLE_LIST,
    CHATGPT_SKILLS,
    CHATGPT_FILES,
    CHATGPT_MAIN,
    CHATGPT_FILE,
    CHATGPT_BYTES,
    VSCODE_DESCRIPTION,
    VSCODE_NAME,
)
CHARACTERS_PER_TOKEN = 4
"""What Claude Code and Codex count as one token when they size a list."""

_TITLES = {
    CLAUDE_CODE: "Claude Code",
    CODEX: "Codex",
    CHATGPT: "ChatGPT",
    VSCODE: "VS Code",
    SKILLWIRE: "Any other client",
}
TITLES: Mapping[str, str] = MappingProxyType(_TITLES)
"""How each client is called in the report."""
