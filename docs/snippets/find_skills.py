import asyncio

from skillwire import FolderSource, Library


async def main() -> None:
    library = Library([FolderSource("skills")])
    found = await library.search("give money back", limit=3)
    for result in found.results:
        print(result.rank, result.name, result.fields)


asyncio.run(main())
