import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from skillwire.catalog.library import Library
from skillwire.sources.archive import ArchiveMirror
from skillwire.sources.mount import MountedSource
from skillwire.sources.prefix import PrefixedSource


async def main(folder: Path) -> None:
    with zipfile.ZipFile(folder / "skills.zip", "w") as archive:
        archive.writestr("greeting/SKILL.md", "---\nname: greeting\ndescription: Greets people.\n---\n")

    mirror = ArchiveMirror(folder / "skills.zip", cache=folder / "cache")
    source = MountedSource(mirror, label="skills")
    library = Library([PrefixedSource(source, "acme")])
    catalog = await library.load()
    assert list(catalog.entries) == ["skill://acme/greeting/SKILL.md"]


with TemporaryDirectory() as temporary:
    anyio.run(main, Path(temporary))
