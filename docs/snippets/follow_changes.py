import anyio

from skillwire import Library, MemorySource
from skillwire.library import Change
from skillwire.sources import MemorySkill


def greeting(description: str) -> MemorySkill:
    text = f"---\nname: greeting\ndescription: {description}\n---\n\nSay hello.\n"
    return MemorySkill("acme/greeting", {"SKILL.md": text.encode()})


async def main() -> None:
    source = MemorySource([greeting("Greets people.")])
    library = Library([source])
    await library.load()
    changed = anyio.Event()

    def listener(change: Change) -> None:
        for edit in change.edits:  # `before` is None for a new skill, `after` for a removed one
            print(edit.before and edit.before.description, "->", edit.after and edit.after.description)
        changed.set()

    library.listen(listener)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)  # runs until it is cancelled
        source.put(greeting("Greets people by name."))
        await changed.wait()
        tasks.cancel_scope.cancel()


anyio.run(main)
