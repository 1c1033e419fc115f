"""The results of real clients: evaluate them, store them in results/, and write the README's table.

results.py   write the README's table from the stored results, without running a client
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from table import CLIENTS, Client

KEPT = Path(__file__).parent / "results"
README = Path(__file__).parents[3] / "README.md"

BEGIN = "<!-- works with: written by scripts/conformance --clients --write -->"
END = "<!-- works with: end -->"
COLUMNS = {"stdio": "stdio", "http": "HTTP", "site": "published site"}
OK, KNOWN = "ok", "fails"
MARKS = "¹²³⁴⁵⁶⁷⁸⁹"


@dataclass
class Outcome:
    """The result of one client. `reason` is why it did not run; otherwise empty."""

    transports: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    supports: list[str] = field(default_factory=list[str])
    complaints: list[str] = field(default_factory=list[str])
    reason: str = ""

    @property
    def ran(self) -> bool:
        return not self.reason

    @property
    def passed(self) -> bool:
        return self.ran and bool(self.transports) and not self.complaints

    def record(self, version: str, date: str) -> dict[str, Any]:
        """Return the result as stored in results/."""
        return {"version": version, "date": date, "supports": self.supports, "transports": self.transports}


def read_report(client: Client, transport: str, ended: tuple[int, str, str], outcome: Outcome) -> None:
    """Add a driver's report to `outcome`, with a complaint for everything that is wrong."""
    status, out, err = ended
    complain = outcome.complaints.append
    found = outcome.transports.setdefault(transport, {})
    try:
        report = json.loads(out.strip().splitlines()[-1])
        checks = [(str(each["name"]), each["ok"] is True, str(each["detail"])) for each in report["checks"]]
        version, supports = str(report["version"]), [str(word) for word in report["supports"]]
    except (IndexError, KeyError, TypeError, ValueError):
        words = (err or out).strip().splitlines()[-8:]
        complain("\n      ".join([f"{transport}: no report, exit code {status}", *words]))
        return
    if status:
        complain(f"{transport}: the driver ended with exit code {status}")
    if version != client.version:
        complain(f"{transport}: version {version} ran, not {client.version}")
    if not checks:
        complain(f"{transport}: nothing was checked")
    for name, ok, detail in checks:
        if name in found:
            complain(f"{transport}: two checks have the name `{name}`")
        found[name] = OK if ok else KNOWN
        if ok and name in client.known:
            complain(f"{transport}: `{name}` works now; remove it from the known faults in table.py")
        elif not ok and name not in client.known:
            complain(f"{transport}: {name}: {detail or 'failed'}")
    outcome.supports += [word for word in supports if word not in outcome.supports]


def differences(client: Client, outcome: Outcome, kept: Mapping[str, Any] | None) -> list[str]:
    """Describe how a run differs from the stored result."""
    if kept is None:
        return ["the README has no result for it"]
    seen = outcome.record(client.version, "")
    found: list[str] = []
    if kept["version"] != seen["version"]:
        found.append(f"the README has version {kept['version']}, this is {seen['version']}")
    if kept["supports"] != seen["supports"]:
        found.append(
            f"it was checked for {', '.join(seen['supports'])}; the README has {', '.join(kept['supports'])}"
        )
    for transport in sorted({*kept["transports"], *seen["transports"]}):
        before, now = (each["transports"].get(transport, {}) for each in (kept, seen))
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                was, is_now = before.get(name, "not checked"), now.get(name, "not checked")
                found.append(f"{transport}: {name}: was {was}, is {is_now}")
    return found


def load(folder: Path) -> dict[str, Any]:
    """Return the stored result of each client, by its name."""
    return {path.stem: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}


def save(folder: Path, name: str, result: Mapping[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(f"{json.dumps(result, indent=1, ensure_ascii=False)}\n", "utf-8")


def render(clients: Sequence[Client], results: Mapping[str, Any]) -> str:
    """Return the table for the README, markers included. A client that never ran has empty cells."""
    notes: list[str] = []
    rows: list[str] = []
    for client in clients:
        kept = results.get(client.name)
        if kept is None:
            rows.append(f"| {client.shown} | {client.version} |{' |' * len(COLUMNS)} not run | |")
            continue
        cells = [cell(client, kept["transports"].get(transport), notes) for transport in COLUMNS]
        checked = ", ".join(kept["supports"])
        if client.serve:
            checked = f"{checked}; with `{' '.join(client.serve)}`"
        rows.append(
            f"| {client.shown} | {kept['version']} | {' | '.join(cells)} | {checked} | {kept['date']} |"
        )
    head = ["client", "version", *COLUMNS.values(), "checked", "last run"]
    lines = [BEGIN, "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *rows, ""]
    if notes:  # one paragraph, a line each
        lines += ["\\\n".join(f"{mark} {note}" for mark, note in zip(MARKS, notes, strict=False)), ""]
    return "\n".join([*lines, END])


def cell(client: Client, checks: Mapping[str, str] | None, notes: list[str]) -> str:
    if not checks:
        return ""
    failed = [client.known.get(name, "A check fails.") for name, result in checks.items() if result != OK]
    marks: list[str] = []
    for note in dict.fromkeys(failed):
        if note not in notes:
            notes.append(note)
        marks.append(MARKS[notes.index(note)])
    return f"yes{''.join(marks)}"


def write_table(readme: Path, table: str) -> None:
    """Replace the table between the markers in the README."""
    before, rest = readme.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    readme.write_text(f"{before}{table}{after}", "utf-8")


if __name__ == "__main__":
    write_table(README, render(CLIENTS, load(KEPT)))
