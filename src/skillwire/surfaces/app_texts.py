"""What a tool of the pages says to a model, in few words; the page itself gets the whole value."""

from collections.abc import Mapping
from typing import Any

from skillwire.model.display import visible
from skillwire.model.entry import Json

_MOST_LINES = 50


def told(name: str, value: Mapping[str, Json]) -> str:
    """Return the result of the tool `name` as text."""
    known: Any = value
    if name == "skill-config":
        return _config(known)
    if name == "skill-display":
        return _skill(known["skill"]) if "skill" in known else _skills(known)
    return "done"


def _config(config: Any) -> str:
    sources = [
        f"- {each['label']}: {each['kind']}, {each['skills']} skills, {each['state']}, "
        f"given by the {each['givenBy']}" + (f": {each['reason']}" if each["reason"] else "")
        for each in config["sources"]
    ]
    problems = [f"- {each['severity']}: {each['path']}: {each['message']}" for each in config["problems"]]
    counts = f"{config['skills']} skills, {config['errors']} errors, {config['warnings']} warnings"
    mode = "static" if config["static"] else "live"
    return "\n".join(
        [
            f"{counts}; {mode}",
            "",
            "Sources:",
            *_cut(sources),
            *(["", "Problems:"] if problems else []),
            *_cut(problems),
        ]
    )


def _skills(page: Any) -> str:
    lines = [f"- {each['name']}{_marks(each)}: {each['description']}" for each in page["skills"]]
    first = page["offset"] + 1 if lines else 0
    shown = f"{page['total']} skills; {first} to {page['offset'] + len(lines)}:"
    return "\n".join([shown, *_cut(lines)])


def _skill(skill: Any) -> str:
    files = [f"- {visible(each['path'])}" for each in skill["fileList"]]
    problems = [f"- {each['severity']}: {each['message']}" for each in skill["problemList"]]
    return "\n".join(
        [
            f"{skill['name']}{_marks(skill)}: {skill['description']}",
            f"{skill['uri']}, from {skill['origin']}",
            "Files:",
            *_cut(files),
            *(["Problems:"] if problems else []),
            *_cut(problems),
        ]
    )


def _marks(skill: Any) -> str:
    marks = {"not for models": not skill["assistant"], "not for people": not skill["user"]}
    told_of = [mark for mark, holds in {**marks, "customized": skill["customized"]}.items() if holds]
    return f" ({', '.join(told_of)})" if told_of else ""


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"and {len(lines) - _MOST_LINES} more"]
