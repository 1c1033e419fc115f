import anyio

from skillwire import Library, MemorySource
from skillwire.library import Change
from skillwire.sources import MemorySkill


def greeting(description: str) -> MemorySkill:
    text = f"---\nname: greeting\ndescription: {description}\n---\n\nSay hello.\n"
    return MemorySkill("greeting", {"SKILL.md": text.encode()})


async def main() -> None:
    source = MemorySource([greeting("Greets people.")])
    library = Library([source])
    await library.load()

    told: list[str] = []
    changed = anyio.Event()

    def listener(change: Change) -> None:  # called right after the catalogue was swapped
        for edit in change.edits:
            before, after = edit.before, edit.after  # None: it was not there, or is gone
            told.append(f"{before and before.description} -> {after and after.description}")
        changed.set()

    library.listen(listener)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)  # until it is cancelled
        source.put(greeting("Greets people by name."))
        with anyio.fail_after(5):
            await changed.wait()
        tasks.cancel_scope.cancel()

    assert told == ["Greets people. -> Greets people by name."]
    assert library.catalog.skill("skill://greeting/SKILL.md").description == "Greets people by name."


anyio.run(main)
