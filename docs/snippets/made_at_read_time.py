import anyio

from skillwire import SkillRequest, SkillServer

GUIDES = {"anvil": "Drop it from above.\n", "rocket": "Light it, then run.\n"}
server = SkillServer("reports-demo")


@server.skill("reports/daily", description="What happened today. Use before you plan.")
async def daily() -> str:
    return "# Today\n\nThree refunds are waiting.\n"


@server.skill("docs/{product}/guide", description="How to use a product.", values={"product": list(GUIDES)})
async def guide(request: SkillRequest) -> str | None:
    return GUIDES.get(request.params["product"])  # None: there is no such skill


async def main() -> None:
    (report,) = await server.read("skill://reports/daily/SKILL.md")
    assert report["text"] == (
        "---\nname: daily\ndescription: What happened today. Use before you plan.\n---\n\n"
        "# Today\n\nThree refunds are waiting.\n"
    )
    (anvil,) = await server.read("skill://docs/anvil/guide/SKILL.md")
    assert str(anvil["text"]).endswith("Drop it from above.\n")


anyio.run(main)
