import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from skillwire import ArchiveSource, Library
from skillwire.sources import PrefixedSource


async def main(folder: Path) -> None:
    with zipfile.ZipFile(folder / "skills.zip", "w") as archive:
        archive.writestr("greeting/SKILL.md", "---\nname: greeting\ndescription: Greets people.\n---\n")

    source = ArchiveSource(folder / "skills.zip", cache=folder / "cache")
    library = Library([PrefixedSource(source, "acme")])
    catalog = await library.load()
    assert list(catalog.entries) == ["skill://acme/greeting/SKILL.md"]


with TemporaryDirectory() as temporary:
    anyio.run(main, Path(temporary))
