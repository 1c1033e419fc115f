"""The rules for references: the files of a skill that have an address of their own."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from skillwire.contract.subject import Fault, Subject, first_wrong, is_kebab, kebab
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.path import path_fault
from skillwire.model.problem import Rule

FOLDER = "references/"
SUFFIX = ".md"
MIME_TYPE = "text/markdown"

_EXAMPLE = "write `references: {policy: {path: references/policy.md}}`"


def references_type(subject: Subject) -> Iterator[Fault]:
    value = subject.block.get("references")
    if value is None:
        return
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
        if not is_kebab(ref_id):
            message = f"{quoted(ref_id)} is not lowercase words with single hyphens between them"
            hint = f"write {quoted(kebab(ref_id) or 'my-reference')}"
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
            value = reference.get(name)
            if value is not None and (not isinstance(value, str) or not value):
                hint = f"write text after `{name}:`, or remove the field"
                way = subject.way("references", ref_id, name)
                yield Fault(way, Rule.CONTRACT_REFERENCE_FIELD, "the value is not text", hint)


def reference_alias(subject: Subject) -> Iterator[Fault]:
    for ref_id, reference in _mappings(subject):
        value = reference.get("aliases")
        way = subject.way("references", ref_id, "aliases")
        if value is not None and (not isinstance(value, list) or first_wrong(value) is not None):
            message = "the aliases are not a list of text"
            yield Fault(way, Rule.CONTRACT_REFERENCE_ALIAS, message, "write `aliases: [old-id]`")
    taken = {ref_id: "the id of a reference" for ref_id, _ in subject.references()}
    for ref_id, at, alias in subject.aliases():
        way = subject.way("references", ref_id, "aliases", at)
        if alias and not is_kebab(alias):
            message = f"{quoted(alias)} is not lowercase words with single hyphens between them"
            hint = f"write {quoted(kebab(alias) or 'old-id')}"
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
    reference_alias,
)


def _mappings(subject: Subject) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield the references that are mappings; the others are told of already."""
    value = subject.block.get("references")
    for ref_id, reference in value.items() if isinstance(value, dict) else ():
        if isinstance(reference, dict):
            yield ref_id, reference


def _path_fault(path: Json) -> str | None:
    """Return the first rule that the path of a reference breaks."""
    if not isinstance(path, str) or not path:
        return "the reference has no path"
    if "\0" in path or "\\" in path:
        return f"{quoted(path)} holds a NUL or a backslash"
    if path.startswith("/"):
        return f"{quoted(path)} is not relative to the folder of the skill"
    if not path.startswith(FOLDER):
        return f"{quoted(path)} is not below `{FOLDER}`"
    if fault := path_fault(path):
        return f"{quoted(path)}: a part of the path {fault}"
    return None if path.endswith(SUFFIX) else f"{quoted(path)} does not end in `{SUFFIX}`"
