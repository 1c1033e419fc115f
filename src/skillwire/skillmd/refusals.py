"""What YAML allows and a frontmatter may not hold, one function for each (H26)."""

from yaml.events import AliasEvent, CollectionStartEvent, Event, ScalarEvent

from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.problem import Rule
from skillwire.skillmd.unreadable import UnreadableError


def line_of(event: Event) -> int:
    """Return the line, counted from 1, where `event` stands."""
    return 1 if event.start_mark is None else event.start_mark.line + 1


def properties(event: ScalarEvent | CollectionStartEvent) -> UnreadableError:
    if event.anchor is not None:
        return _anchored(event, f"&{event.anchor}")
    return UnreadableError(
        Rule.YAML_TAG,
        f"{quoted(str(event.tag))} is a tag, which a frontmatter may not hold",
        hint="remove it, or put quotes around text that starts with `!`",
        line=line_of(event),
    )


def alias(event: AliasEvent) -> UnreadableError:
    return _anchored(event, f"*{event.anchor}")


def _anchored(event: Event, spelling: str) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_ANCHOR,
        f"{quoted(spelling)} is an anchor or an alias, which a frontmatter may not hold",
        hint=f"write the value out, or put quotes around text that starts with `{spelling[0]}`",
        line=line_of(event),
    )


def collection_key(event: Event) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_KEY, "a mapping or a list is used as a key", hint="use text as the key", line=line_of(event)
    )


def scalar_key(event: ScalarEvent) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_KEY,
        f"{quoted(event.value)} is used as a key, and it is not text",
        hint="put the key in quotes: " + quoted(f'"{event.value}"'),
        line=line_of(event),
    )


def duplicate_key(event: ScalarEvent) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_DUPLICATE_KEY,
        f"{quoted(event.value)} is given twice",
        hint="remove one of the two",
        line=line_of(event),
    )


def number(event: ScalarEvent) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_NUMBER,
        f"{quoted(event.value)} is no finite number, so JSON cannot carry it",
        hint="put it in quotes to make it text: " + quoted(f'"{event.value}"'),
        line=line_of(event),
    )


def depth(event: Event, limit: int) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_DEPTH,
        f"more than {limit} mappings and lists stand inside each other",
        hint="flatten the value, or move it into a file beside `SKILL.md`",
        line=line_of(event),
    )


def second_document(event: Event) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_DOCUMENTS,
        "the frontmatter is one YAML document, and this line ends it",
        hint="remove the line, or put spaces before it if it belongs to a value",
        line=line_of(event),
    )


def not_mapping(root: Json) -> UnreadableError:
    what = "empty" if root is None else "not a mapping of fields to values"
    return UnreadableError(
        Rule.FRONTMATTER_NOT_MAPPING,
        f"the frontmatter is {what}",
        hint="write `name: …` and `description: …`, each on a line of its own",
        line=1,
    )
