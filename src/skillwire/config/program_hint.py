"""The hint for a program that is written where its command line after `--` is needed."""

import shlex

from skillwire.safe_text import escape_invisible

_RUNNERS = {".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "npx tsx", ".sh": "sh"}
_INTERPRETERS = frozenset(
    {"python", "python3", "node", "npx", "uv", "uvx", "deno", "bun", "bunx", "sh", "docker"}
)


def program_hint(argument: str, following: str = "") -> str:
    """Return how to write a server that is started by a program, or an empty text.

    `argument` is a program's file, or a command such as `python`, with the argument that follows it.
    """
    if argument in _INTERPRETERS:
        command = f"{argument} {shlex.quote(following)}" if following else f"{argument} …"
        return f"write `-- {escape_invisible(command, 200)}` to start a server"
    runner = next((each for end, each in _RUNNERS.items() if argument.lower().endswith(end)), None)
    if runner is None or "://" in argument:
        return ""
    return f"write `-- {runner} {escape_invisible(shlex.quote(argument), 200)}` to start a server"
