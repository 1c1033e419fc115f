"""What can be wrong with a folder or a file on somebody's disk, in words."""

from skillwire.model.limits import Limits
from skillwire.model.problem import Problem, Rule, Severity


def unpublishable(path: str, fault: str) -> Problem:
    return Problem(
        path,
        Rule.FILE_NAME,
        Severity.WARNING,
        f"its name {fault}, so it is left out",
        hint="rename it",
    )


def misspelled(path: str) -> Problem:
    return Problem(
        path,
        Rule.SKILL_FILE_NAME,
        Severity.WARNING,
        "the folder is no skill, because this file is not called `SKILL.md`",
        hint="rename it to `SKILL.md`",
    )


def dangling(path: str) -> Problem:
    return Problem(
        path, Rule.FILE_UNREADABLE, Severity.WARNING, "it leads nowhere", hint="mend or remove the link"
    )


def loop(path: str, message: str) -> Problem:
    return Problem(path, Rule.LINK_LOOP, Severity.WARNING, message, hint="remove the link")


def hidden_target(path: str) -> Problem:
    return Problem(
        path,
        Rule.LINK_OUTSIDE,
        Severity.WARNING,
        "the link leads to something hidden or ignored, so it is left out",
        hint="put a copy here, or link to a file that is served",
    )


def outside(path: str) -> Problem:
    return Problem(
        path,
        Rule.LINK_OUTSIDE,
        Severity.WARNING,
        "the link leads out of the folder that is served, so it is left out",
        hint="put a copy here, or allow links to elsewhere with `--follow-links`",
    )


def special(path: str) -> Problem:
    return Problem(
        path,
        Rule.FILE_SPECIAL,
        Severity.WARNING,
        "it is a pipe, socket or device, so it is left out",
        hint="remove it from the folder",
    )


def unreadable(path: str, rule: Rule, error: OSError) -> Problem:
    return Problem(
        path or ".",
        rule,
        Severity.WARNING,
        f"it cannot be read: {(error.strerror or type(error).__name__).lower()}",
        hint="check its permissions, or remove it",
    )


def exhausted(path: str, limits: Limits) -> Problem:
    return Problem(
        path or ".",
        Rule.FOLDER_ENTRIES,
        Severity.ERROR,
        f"stopped here after {limits.entries:,} files and folders; the rest is not served",
        hint="serve a smaller folder, or name what to leave out in `.skillwireignore`",
    )


def too_deep(path: str, limits: Limits) -> Problem:
    return Problem(
        path,
        Rule.FOLDER_DEPTH,
        Severity.WARNING,
        f"it is more than {limits.depth} folders deep and is not looked into",
        hint="move it up, or serve a folder nearer to it",
    )
