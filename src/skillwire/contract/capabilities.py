"""The rules for capabilities: the addresses that a skill declares, against those that it is served at."""

from collections.abc import Callable, Iterable, Iterator

from skillwire.contract.references import is_served
from skillwire.contract.subject import Fault, Subject, texts
from skillwire.contract.uris import document_uri, published, reference_uri, root_uri
from skillwire.model.display import quoted
from skillwire.model.problem import Rule


def capabilities_missing(subject: Subject) -> Iterator[Fault]:
    if subject.block.get("capabilities") is None:
        addresses = ", ".join(published(subject))
        hint = f"write {quoted(f'capabilities: [{addresses}]')}, or let `--fix` write it"
        message = "the block does not say which addresses are published"
        yield Fault(subject.way("capabilities"), Rule.CONTRACT_CAPABILITIES_MISSING, message, hint)


def capabilities_type(subject: Subject) -> Iterator[Fault]:
    value = subject.block.get("capabilities")
    if value is None:
        return
    hint = f"write {quoted(f'capabilities: [{document_uri(subject.namespace)}]')}"
    if not isinstance(value, list):
        message = "the capabilities are not a list of URIs"
        yield Fault(subject.way("capabilities"), Rule.CONTRACT_CAPABILITIES_TYPE, message, hint)
        return
    for at, uri in enumerate(value):
        if not isinstance(uri, str) or not uri:
            message = "the value is empty" if uri == "" else "the value is not text"
            yield Fault(subject.way("capabilities", at), Rule.CONTRACT_CAPABILITIES_TYPE, message, hint)


def capability_document(subject: Subject) -> Iterator[Fault]:
    value, document = subject.block.get("capabilities"), document_uri(subject.namespace)
    if isinstance(value, list) and document not in value:
        message = "the document of the skill is not among the capabilities"
        hint = f"add {quoted(document)}"
        yield Fault(subject.way("capabilities"), Rule.CONTRACT_CAPABILITY_DOCUMENT, message, hint)


def capability_foreign(subject: Subject) -> Iterator[Fault]:
    root = root_uri(subject.namespace)
    for at, uri in _declared(subject):
        if not uri.startswith(root):
            message = f"{quoted(uri)} is not an address of this skill"
            hint = f"begin it with {quoted(root)}, or remove it"
            yield Fault(subject.way("capabilities", at), Rule.CONTRACT_CAPABILITY_FOREIGN, message, hint)


def capability_unserved(subject: Subject) -> Iterator[Fault]:
    root, served = root_uri(subject.namespace), set(served_uris(subject))
    for at, uri in _declared(subject):
        if uri.startswith(root) and uri not in served:
            message = f"nothing is served at {quoted(uri)}"
            hint = "remove it, or add the reference that it names to `references`"
            yield Fault(subject.way("capabilities", at), Rule.CONTRACT_CAPABILITY_UNSERVED, message, hint)


def capability_undeclared(subject: Subject) -> Iterator[Fault]:
    value = subject.block.get("capabilities")
    declared = set(texts(value))
    for ref_id, reference in subject.references() if isinstance(value, list) else ():
        uri = reference_uri(subject.namespace, ref_id)
        if uri not in declared and is_served(subject, reference):
            message = f"the reference {quoted(ref_id)} is served, and not among the capabilities"
            hint = f"add {quoted(uri)}"
            yield Fault(subject.way("capabilities"), Rule.CONTRACT_CAPABILITY_UNDECLARED, message, hint)


CHECKS: tuple[Callable[[Subject], Iterable[Fault]], ...] = (
    capabilities_missing,
    capabilities_type,
    capability_document,
    capability_foreign,
    capability_unserved,
    capability_undeclared,
)


def served_uris(subject: Subject) -> Iterator[str]:
    """Yield every address that the skill is served at, those of aliases too."""
    yield from published(subject)
    for _, _, alias in subject.aliases():
        yield reference_uri(subject.namespace, alias)


def _declared(subject: Subject) -> Iterator[tuple[int, str]]:
    value = subject.block.get("capabilities")
    for at, uri in enumerate(value if isinstance(value, list) else ()):
        if isinstance(uri, str) and uri:
            yield at, uri
