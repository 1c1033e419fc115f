"""A new skill, ready to be filled in: it passes every check as it stands."""

from skillwire.contract.uris import document_uri
from skillwire.skillmd.scalar_text import scalar

_BODY = """
# {title}

Say here what to do, step by step. What is not always needed belongs into files in `references`: link to them.

1. First, …
2. Then, …
"""


def new_skill(name: str, *, key: str | None) -> str:
    """Return a `SKILL.md`; with a `key`, also the block of the contract."""
    block = ""
    if key is not None:
        block = (
            f'{scalar(key)}:\n  id: {scalar(name)}\n  version: "0.1.0"\n  tags: []\n'
            f"  capabilities:\n    - {document_uri(name)}\n  depends_on: []\n  references: {{}}\n"
        )
    title = name.replace("-", " ").capitalize()
    description = f"Say what {name} does, and when to use it."
    fields = f"name: {scalar(name)}\ndescription: {scalar(description)}\n{block}"
    return f"---\n{fields}---\n{_BODY.format(title=title)}"
