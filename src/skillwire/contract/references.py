"""The rules for references: the files of a skill that have an address of their own."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from skillwire.contract.subject import Fault, Subject, kebab, no_id, not_text, proposed_id, stripped
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.path import path_fault
from skillwire.model.problem import Rule

FOLDER = "references/"
SUFFIX = ".md"
MIME_TYPE = "text/markdown"

_EXAMPLE = "write `references: {policy: {path: references/policy.md}}`"


def references_type(subject: Subject) -> Iterator[Fault]:
    value = subject.block.get("references", {})
    if not isinstance(value, dict):
        message = "the references are not a mapping of ids to files"
        yield Fault(subject.way("references"), Rule.CONTRACT_REFERENCES_TYPE, message, _EXAMPLE)
        return
    for ref_id, reference in value.items():
        if not isinstance(reference, dict):
            way = subject.way("references", ref_id)
            yield Fault(way, Rule.CONTRACT_REFERENCES_TYPE, "the reference is not a mapping", _EXAMPLE)


def reference_id(subject: Subject) -> Iterator[Fault]:
    for ref_id, _ in subject.references():
        if message := no_id(ref_id, "id of the reference"):
            hint = f"write {quoted(proposed_id(ref_id, 'reference'))}"
            yield Fault(subject.way("references", ref_id), Rule.CONTRACT_REFERENCE_ID, message, hint)
    for ref_id in _given_twice(subject):
        message = f"the id {quoted(ref_id)} is given twice, with other spaces around it"
        hint = "remove one of the two, or give it another id"
        yield Fault(subject.way("references", ref_id), Rule.CONTRACT_REFERENCE_ID, message, hint)


def reference_path(subject: Subject) -> Iterator[Fault]:
    for ref_id, reference in _mappings(subject):
        if fault := _path_fault(reference.get("path")):
            file = f"{FOLDER}{kebab(ref_id) or 'guide'}{SUFFIX}"
            hint = f"write {quoted(f'path: {file}')}"
            yield Fault(subject.way("references", ref_id, "path"), Rule.CONTRACT_REFERENCE_PATH, fault, hint)


def reference_missing(subject: Subject) -> Iterator[Fault]:
    files = subject.facts.files
    for ref_id, reference in _mappings(subject) if files is not None else ():
        path = reference.get("path")
        if isinstance(path, str) and _path_fault(path) is None and path not in (files or ()):
            message = f"the skill has no file {quoted(path)}"
            # A link that leads out of the folder is not served, so it is no file of the skill.
            hint = "write the file, or mend the path; a link that leads out of the folder does not count"
            yield Fault(
                subject.way("references", ref_id, "path"), Rule.CONTRACT_REFERENCE_MISSING, message, hint
            )


def reference_shared(subject: Subject) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for ref_id, reference in _mappings(subject):
        path = reference.get("path")
        if isinstance(path, str) and (other := first.setdefault(path, ref_id)) != ref_id:
            message = f"{quoted(path)} is the file of {quoted(other)}, too"
            hint = f"remove one of the two, and keep its id as an alias: {quoted(f'aliases: [{ref_id}]')}"
            yield Fault(
                subject.way("references", ref_id, "path"), Rule.CONTRACT_REFERENCE_SHARED, message, hint
            )


def reference_field(subject: Subject) -> Iterator[Fault]:
    for ref_id, reference in _mappings(subject):
        for name in ("mime_type", "title"):
            value = reference.get(name, "")
            # A title may be null, which says that there is none. A MIME type may not.
            if not isinstance(value, str) and not (value is None and name == "title"):
                hint = f"write text after `{name}:`, or remove the field"
                way = subject.way("references", ref_id, name)
                yield Fault(way, Rule.CONTRACT_REFERENCE_FIELD, "the value is not text", hint)


def reference_empty(subject: Subject) -> Iterator[Fault]:
    for ref_id, reference in _mappings(subject):
        for name in ("mime_type", "title"):
            if reference.get(name) == "":
                hint = f"write text after `{name}:`, or remove the field"
                message = "the value is empty, so it counts as left out"
                way = subject.way("references", ref_id, name)
                yield Fault(way, Rule.CONTRACT_REFERENCE_EMPTY, message, hint)


def reference_alias(subject: Subject) -> Iterator[Fault]:
    for ref_id, reference in _mappings(subject):
        value = reference.get("aliases")
        way = subject.way("references", ref_id, "aliases")
        if value is not None and not isinstance(value, list):
            message = "the aliases are not a list of text"
            yield Fault(way, Rule.CONTRACT_REFERENCE_ALIAS, message, "write `aliases: [old-id]`")
            continue
        for at in not_text(value or ()):
            message, hint = "the value is not text", "write `aliases: [old-id]`"
            yield Fault((*way, at), Rule.CONTRACT_REFERENCE_ALIAS, message, hint)
    taken = {ref_id: "the id of a reference" for ref_id, _ in subject.references()}
    for ref_id, at, alias in subject.aliases():
        way = subject.way("references", ref_id, "aliases", at)
        if message := no_id(alias, "alias"):
            hint = f"write {quoted(proposed_id(alias, 'old'))}, or remove it" if alias else "remove it"
            yield Fault(way, Rule.CONTRACT_REFERENCE_ALIAS, message, hint)
        elif alias in taken:
            message = f"{quoted(alias)} is {taken[alias]}, too"
            yield Fault(
                way, Rule.CONTRACT_REFERENCE_ALIAS, message, "give each alias once in the whole skill"
            )
        taken.setdefault(alias, "another alias")


def is_served(subject: Subject, reference: Mapping[str, Json]) -> bool:
    """Whether a reference names a file that is there, as far as anybody knows."""
    path, files = reference.get("path"), subject.facts.files
    return _path_fault(path) is None and (files is None or path in files)


CHECKS: tuple[Callable[[Subject], Iterable[Fault]], ...] = (
    references_type,
    reference_id,
    reference_path,
    reference_missing,
    reference_shared,
    reference_field,
    reference_empty,
    reference_alias,
)


def _mappings(subject: Subject) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield the references that are mappings; the others are told of already."""
    written = subject.block.get("references")
    for ref_id, reference in subject.references():
        if isinstance(written, dict) and isinstance(written[ref_id], dict):
            yield ref_id, reference


def _given_twice(subject: Subject) -> Iterator[str]:
    """Yield the ids that are the same once the white space around them is gone."""
    block = subject.facts.frontmatter.get(subject.key)
    written = block.get("references") if isinstance(block, dict) else None
    seen: set[str] = set()
    for name in written if isinstance(written, dict) else ():
        ref_id = str(stripped(name))
        if ref_id in seen:
            yield ref_id
        seen.add(ref_id)


def _path_fault(path: Json) -> str | None:
    """Return the first rule that the path of a reference breaks."""
    if not isinstance(path, str):
        return "the reference has no path" if path is None else "the path is not text"
    if not path:
        return "the path is empty"
    fault = _place_fault(path)
    return f"{quoted(path)} {fault}" if fault else None


def _place_fault(path: str) -> str | None:
    """Return why no reference can be at this path."""
    if "\0" in path or "\\" in path:
        return "holds a NUL or a backslash"
    if path.startswith("/"):
        return "is not relative to the folder of the skill"
    if not path.startswith(FOLDER):
        return f"is not below `{FOLDER}`"
    if fault := path_fault(path):
        return f"cannot be served: a part of the path {fault}"
    stem, suffix = path[: -len(SUFFIX)], path[-len(SUFFIX) :]
    # A file that is called `.md` and nothing else has no suffix.
    return None if suffix.lower() == SUFFIX and not stem.endswith("/") else f"does not end in `{SUFFIX}`"
