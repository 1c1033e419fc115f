import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from skillwire import Host, State, Target
from skillwire.host import Answer, LoadRequest, Request

SKILLS = Path(__file__).parents[2] / "examples/skills"
ACME = Target("acme", command=(sys.executable, "-m", "skillwire", "serve", str(SKILLS), "--no-config"))


async def ask(request: Request) -> Answer:
    """Show the question to a person, and wait. Here, skills may be loaded, and nothing else is allowed."""
    sys.stderr.write(f"{request}\n")
    return Answer.KEEP if isinstance(request, LoadRequest) else Answer.NO


async def main(folder: Path) -> None:
    with State.open(folder) as state:
        async with Host([ACME], approve=ask, state=state) as host:
            await host.discover()
            session = host.session()  # one for each conversation

            catalog = session.catalog_prompt()  # for the instructions of your agent
            assert "refunds" in catalog

            read_skill, read_skill_file = session.tools()
            text = await read_skill.invoke({"name": "acme:refunds"})
            assert "acme" in text  # the text says from which server it is
            policy = await read_skill_file.invoke({"name": "acme:refunds", "path": "references/policy.md"})
            assert "Refund" in policy


with TemporaryDirectory() as folder:
    anyio.run(main, Path(folder))
