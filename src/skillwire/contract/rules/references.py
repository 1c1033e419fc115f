"""Rules for the form of references and capabilities, and for the existence of their files and URIs."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from skillwire.contract.rules.skill import (
    ContractSkill,
    document_uri,
    expected_uris,
    id_fault,
    kebab,
    not_text,
    proposed_id,
    reference_uri,
    root_uri,
    stripped,
    texts,
)
from skillwire.core.names import path_fault
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Json
from skillwire.safe_text import quoted

FOLDER = "references/"
SUFFIX = ".md"
MIME_TYPE = "text/markdown"

_EXAMPLE = "write `references: {policy: {path: references/policy.md}}`"


def references_type(subject: ContractSkill) -> Iterator[Problem]:
    value = subject.block.get("references", {})
    if not isinstance(value, dict):
        message = "the references are not a mapping of ids to files"
        yield subject.problem(
            subject.field_path("references"), Rule.CONTRACT_REFERENCES_TYPE, message, _EXAMPLE
        )
        return
    for ref_id, reference in value.items():
        if not isinstance(reference, dict):
            field_path = subject.field_path("references", ref_id)
            yield subject.problem(
                field_path, Rule.CONTRACT_REFERENCES_TYPE, "the reference is not a mapping", _EXAMPLE
            )


def reference_id(subject: ContractSkill) -> Iterator[Problem]:
    for ref_id, _ in subject.references():
        if message := id_fault(ref_id, "id of the reference"):
            hint = f"write {quoted(proposed_id(ref_id, 'reference'))}"
            yield subject.problem(
                subject.field_path("references", ref_id), Rule.CONTRACT_REFERENCE_ID, message, hint
            )
    for ref_id in _repeated_ids(subject):
        message = f"the id {quoted(ref_id)} is given twice, with different whitespace around it"
        hint = "remove one of the two, or give it another id"
        yield subject.problem(
            subject.field_path("references", ref_id), Rule.CONTRACT_REFERENCE_ID, message, hint
        )


def reference_path(subject: ContractSkill) -> Iterator[Problem]:
    for ref_id, reference in _mappings(subject):
        if fault := _path_fault(reference.get("path")):
            file = f"{FOLDER}{kebab(ref_id) or 'guide'}{SUFFIX}"
            hint = f"write {quoted(f'path: {file}')}"
            yield subject.problem(
                subject.field_path("references", ref_id, "path"), Rule.CONTRACT_REFERENCE_PATH, fault, hint
            )


def reference_missing(subject: ContractSkill) -> Iterator[Problem]:
    files = subject.facts.files
    for ref_id, reference in _mappings(subject) if files is not None else ():
        path = reference.get("path")
        if isinstance(path, str) and _path_fault(path) is None and path not in (files or ()):
            message = f"the skill has no file {quoted(path)}"
            # A symbolic link that leaves the folder is not served, so it is not a file of the skill.
            hint = "create the file, or fix the path; a link that leads out of the folder does not count"
            yield subject.problem(
                subject.field_path("references", ref_id, "path"),
                Rule.CONTRACT_REFERENCE_MISSING,
                message,
                hint,
            )


def reference_shared(subject: ContractSkill) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for ref_id, reference in _mappings(subject):
        path = reference.get("path")
        if isinstance(path, str) and (other := first.setdefault(path, ref_id)) != ref_id:
            message = f"{quoted(path)} is also the file of {quoted(other)}"
            hint = f"remove one of the two, and keep its id as an alias: {quoted(f'aliases: [{ref_id}]')}"
            yield subject.problem(
                subject.field_path("references", ref_id, "path"),
                Rule.CONTRACT_REFERENCE_SHARED,
                message,
                hint,
            )


def reference_field(subject: ContractSkill) -> Iterator[Problem]:
    for ref_id, reference in _mappings(subject):
        for name in ("mime_type", "title"):
            value = reference.get(name, "")
            # A title may be null, meaning that there is none. A MIME type may not.
            if not isinstance(value, str) and not (value is None and name == "title"):
                hint = f"write text after `{name}:`, or remove the field"
                field_path = subject.field_path("references", ref_id, name)
                yield subject.problem(
                    field_path, Rule.CONTRACT_REFERENCE_FIELD, "the value is not text", hint
                )


def reference_empty(subject: ContractSkill) -> Iterator[Problem]:
    for ref_id, reference in _mappings(subject):
        for name in ("mime_type", "title"):
            if reference.get(name) == "":
                hint = f"write text after `{name}:`, or remove the field"
                message = "the value is empty, so it counts as left out"
                field_path = subject.field_path("references", ref_id, name)
                yield subject.problem(field_path, Rule.CONTRACT_REFERENCE_EMPTY, message, hint)


def reference_alias(subject: ContractSkill) -> Iterator[Problem]:
    for ref_id, reference in _mappings(subject):
        value = reference.get("aliases")
        field_path = subject.field_path("references", ref_id, "aliases")
        if value is not None and not isinstance(value, list):
            message = "the aliases are not a list of text"
            yield subject.problem(
                field_path, Rule.CONTRACT_REFERENCE_ALIAS, message, "write `aliases: [old-id]`"
            )
            continue
        for at in not_text(value or ()):
            message, hint = "the value is not text", "write `aliases: [old-id]`"
            yield subject.problem((*field_path, at), Rule.CONTRACT_REFERENCE_ALIAS, message, hint)
    taken = {ref_id: "the id of a reference" for ref_id, _ in subject.references()}
    for ref_id, at, alias in subject.aliases():
        field_path = subject.field_path("references", ref_id, "aliases", at)
        if message := id_fault(alias, "alias"):
            hint = f"write {quoted(proposed_id(alias, 'old'))}, or remove it" if alias else "remove it"
            yield subject.problem(field_path, Rule.CONTRACT_REFERENCE_ALIAS, message, hint)
        elif alias in taken:
            message = f"{quoted(alias)} is also {taken[alias]}"
            yield subject.problem(
                field_path, Rule.CONTRACT_REFERENCE_ALIAS, message, "give each alias once in the whole skill"
            )
        taken.setdefault(alias, "another alias")


def is_served(subject: ContractSkill, reference: Mapping[str, Json]) -> bool:
    """Return whether a reference has a valid path and its file exists.

    If the files are unknown, they count as existing.
    """
    path, files = reference.get("path"), subject.facts.files
    return _path_fault(path) is None and (files is None or path in files)


CHECKS: tuple[Callable[[ContractSkill], Iterable[Problem]], ...] = (
    references_type,
    reference_id,
    reference_path,
    reference_missing,
    reference_shared,
    reference_field,
    reference_empty,
    reference_alias,
)


def _mappings(subject: ContractSkill) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield the id and fields of each reference that is a mapping. `references_type` reports the others."""
    written = subject.block.get("references")
    for ref_id, reference in subject.references():
        if isinstance(written, dict) and isinstance(written[ref_id], dict):
            yield ref_id, reference


def _repeated_ids(subject: ContractSkill) -> Iterator[str]:
    """Yield each id that occurs again after whitespace around ids is stripped."""
    block = subject.facts.frontmatter.get(subject.key)
    written = block.get("references") if isinstance(block, dict) else None
    seen: set[str] = set()
    for name in written if isinstance(written, dict) else ():
        ref_id = str(stripped(name))
        if ref_id in seen:
            yield ref_id
        seen.add(ref_id)


def _path_fault(path: Json) -> str | None:
    """Return why the path of a reference is invalid, or None if it is valid."""
    if not isinstance(path, str):
        return "the reference has no path" if path is None else "the path is not text"
    if not path:
        return "the path is empty"
    fault = place_fault(path)
    return f"{quoted(path)} {fault}" if fault else None


def place_fault(path: str) -> str | None:
    """Return why a reference cannot be at this path, or None if it can."""
    if "\0" in path or "\\" in path:
        return "contains a NUL or a backslash"
    if path.startswith("/"):
        return "is not relative to the folder of the skill"
    if not path.startswith(FOLDER):
        return f"is not below `{FOLDER}`"
    if fault := path_fault(path):
        return f"cannot be served: a part of the path {fault}"
    stem, suffix = path[: -len(SUFFIX)], path[-len(SUFFIX) :]
    # A file named just `.md` has no suffix.
    return None if suffix.lower() == SUFFIX and not stem.endswith("/") else f"does not end in `{SUFFIX}`"


def capabilities_missing(subject: ContractSkill) -> Iterator[Problem]:
    if subject.block.get("capabilities") is None:
        addresses = ", ".join(expected_uris(subject))
        hint = f"write {quoted(f'capabilities: [{addresses}]')}, or let `--fix` write it"
        message = "the block does not declare the published URIs"
        yield subject.problem(
            subject.field_path("capabilities"), Rule.CONTRACT_CAPABILITIES_MISSING, message, hint
        )


def capabilities_type(subject: ContractSkill) -> Iterator[Problem]:
    value = subject.block.get("capabilities")
    if value is None:
        return
    hint = f"write {quoted(f'capabilities: [{document_uri(subject.namespace)}]')}"
    if not isinstance(value, list):
        message = "the capabilities are not a list of URIs"
        yield subject.problem(
            subject.field_path("capabilities"), Rule.CONTRACT_CAPABILITIES_TYPE, message, hint
        )
        return
    for at, uri in enumerate(value):
        if not isinstance(uri, str) or not uri:
            message = "the value is empty" if uri == "" else "the value is not text"
            yield subject.problem(
                subject.field_path("capabilities", at), Rule.CONTRACT_CAPABILITIES_TYPE, message, hint
            )


def capability_document(subject: ContractSkill) -> Iterator[Problem]:
    value, document = subject.block.get("capabilities"), document_uri(subject.namespace)
    if isinstance(value, list) and document not in value:
        message = "the URI of the document is not listed in the capabilities"
        hint = f"add {quoted(document)}"
        yield subject.problem(
            subject.field_path("capabilities"), Rule.CONTRACT_CAPABILITY_DOCUMENT, message, hint
        )


def capability_foreign(subject: ContractSkill) -> Iterator[Problem]:
    root = root_uri(subject.namespace)
    for at, uri in _declared(subject):
        if not uri.startswith(root):
            message = f"{quoted(uri)} is not a URI of this skill"
            hint = f"begin it with {quoted(root)}, or remove it"
            yield subject.problem(
                subject.field_path("capabilities", at), Rule.CONTRACT_CAPABILITY_FOREIGN, message, hint
            )


def capability_unserved(subject: ContractSkill) -> Iterator[Problem]:
    root, served = root_uri(subject.namespace), set(served_uris(subject))
    for at, uri in _declared(subject):
        if uri.startswith(root) and uri not in served:
            message = f"nothing is served at {quoted(uri)}"
            hint = "remove it, or add the reference that it names to `references`"
            yield subject.problem(
                subject.field_path("capabilities", at), Rule.CONTRACT_CAPABILITY_UNSERVED, message, hint
            )


def capability_undeclared(subject: ContractSkill) -> Iterator[Problem]:
    value = subject.block.get("capabilities")
    declared = set(texts(value))
    for ref_id, reference in subject.references() if isinstance(value, list) else ():
        uri = reference_uri(subject.namespace, ref_id)
        if uri not in declared and is_served(subject, reference):
            message = f"the reference {quoted(ref_id)} is served, but not listed in the capabilities"
            hint = f"add {quoted(uri)}"
            yield subject.problem(
                subject.field_path("capabilities"), Rule.CONTRACT_CAPABILITY_UNDECLARED, message, hint
            )


CAPABILITY_CHECKS: tuple[Callable[[ContractSkill], Iterable[Problem]], ...] = (
    capabilities_missing,
    capabilities_type,
    capability_document,
    capability_foreign,
    capability_unserved,
    capability_undeclared,
)


def served_uris(subject: ContractSkill) -> Iterator[str]:
    """Yield the URIs of the document, of all declared references, and of their aliases."""
    yield from expected_uris(subject)
    for _, _, alias in subject.aliases():
        yield reference_uri(subject.namespace, alias)


def _declared(subject: ContractSkill) -> Iterator[tuple[int, str]]:
    """Yield the index and value of each capability that is text and not empty."""
    value = subject.block.get("capabilities")
    for at, uri in enumerate(value if isinstance(value, list) else ()):
        if isinstance(uri, str) and uri:
            yield at, uri
