import anyio

from skillwire import FolderSource, Library


async def main() -> None:
    library = Library([FolderSource("skills")])
    catalog = await library.load()

    for problem in catalog.problems:
        print(problem)
    for skill in catalog.entries.values():
        print(skill.name, [file.path for file in skill.files])

    reading = await library.read("skill://hello/SKILL.md")
    print(reading.content.decode())


anyio.run(main)
