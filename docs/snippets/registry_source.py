import anyio

from skillwire import FolderSource, Library, RegistrySource


async def main() -> None:
    library = Library([RegistrySource("registry:#canary"), FolderSource("skills")])
    catalog = await library.load()
    print(*catalog.entries)


anyio.run(main)
