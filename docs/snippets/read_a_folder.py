from pathlib import Path

import anyio

from skillwire import FolderSource, Library

SKILLS = Path(__file__).parents[2] / "examples/skills"


async def main() -> None:
    library = Library([FolderSource(SKILLS)])
    catalog = await library.load()

    for problem in catalog.problems:  # broken skills are told, not raised
        raise SystemExit(str(problem))

    refunds = catalog.skill("skill://acme/billing/refunds/SKILL.md")
    assert refunds.name == "refunds"
    assert [file.path for file in refunds.files][:2] == ["SKILL.md", "assets/refund-email.md"]

    reading = await library.read(refunds.uri_of("references/policy.md"))
    assert reading.content.startswith(b"# ")  # its bytes have the digest that the catalogue lists


anyio.run(main)
