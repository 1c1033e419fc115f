"""Write the figures of the README, so that they are those of the last full run."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.speed.contestants import AGENTSKILLS, BARE, FASTMCP, HTTP, OURS, STDIO, TYPESCRIPT
from benchmarks.speed.ground import IN_FLIGHT, ONCE, READ
from benchmarks.speed.measures import Measures
from benchmarks.tables import figure, row

_BEGIN, _END = "<!-- speed: written by scripts/bench speed -->\n", "<!-- speed: end -->\n"
_COLUMNS = {
    OURS: "Skillwire",
    TYPESCRIPT: "TypeScript SDK",
    AGENTSKILLS: "`agentskills-mcp-server`, in memory",
    BARE: "bare Python SDK, in memory",
    FASTMCP: "FastMCP",
}


def readme_table(measures: Measures, size: int) -> str:
    """Return the reads a second of each server, with each file once and repeated. Empty if not measured."""
    return "".join(f"{line}\n" for line in _rows(measures, size))


def write_readme(readme: Path, measures: Measures, size: int) -> None:
    """Replace the table in a README. Changes nothing if nothing was measured."""
    before, begin, rest = readme.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    assert end, f"{readme} has no marks for the figures"
    if table := readme_table(measures, size):
        readme.write_text(f"{before}{begin}{table}{end}{after}", encoding="utf-8")


def _rows(measures: Measures, size: int) -> Iterator[str]:
    def cell(contestant: str, transport: str) -> str | None:
        figures: list[str] = []
        for what in (ONCE, f"{READ}, {IN_FLIGHT} in flight"):
            found = measures.find(f"{what}: requests a second", contestant, transport, size)
            if found is None:
                return None
            figures.append(figure(found.median, found.unit))
        return " / ".join(figures)

    shown = [name for name in _COLUMNS if cell(name, STDIO) and cell(name, HTTP)]
    if OURS in shown:
        yield row(["reads per second", *(_COLUMNS[name] for name in shown)])
        yield row(["---", *["---:"] * len(shown)])
        for transport in (STDIO, HTTP):
            label = f"{transport}: each file once / repeated (cached)"
            yield row([label, *(cell(name, transport) or "" for name in shown)])
