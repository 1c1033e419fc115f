"""The addresses under which a skill of the contract is published."""

from collections.abc import Iterator

from skillwire.contract.subject import Subject

SKILLS = "resource://skills/"
CATALOG = "resource://catalog/"
INDEX = f"{CATALOG}skills_index"
DOCUMENT_TEMPLATE = f"{SKILLS}{{id}}/document"
REFERENCE_TEMPLATE = f"{SKILLS}{{id}}/references/{{ref_id}}"
CARD_TEMPLATE = f"{CATALOG}skills/{{id}}"


def root_uri(skill_id: str) -> str:
    """Return what every address of a skill begins with."""
    return f"{SKILLS}{skill_id}/"


def document_uri(skill_id: str) -> str:
    return f"{root_uri(skill_id)}document"


def reference_uri(skill_id: str, ref_id: str) -> str:
    return f"{root_uri(skill_id)}references/{ref_id}"


def card_uri(skill_id: str) -> str:
    """Return the address of what the catalogue knows of a skill."""
    return f"{CATALOG}skills/{skill_id}"


def published(subject: Subject) -> Iterator[str]:
    """Yield the addresses that a skill should declare: its document, then its references."""
    yield document_uri(subject.namespace)
    for ref_id, _ in subject.references():
        yield reference_uri(subject.namespace, ref_id)
