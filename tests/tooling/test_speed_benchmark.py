"""The benchmark beside peers and floors: every contestant answers, figures add up, and bars are judged."""

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.machine import Machine
from benchmarks.results import Unit
from benchmarks.speed.bars import bars
from benchmarks.speed.contestants import (
    AGENTSKILLS,
    BARE,
    ECHO,
    FASTMCP,
    FILE,
    FILE_ROUTE,
    HTTP,
    OURS,
    RAW,
    ROUTE,
    STDIO,
    contestants,
)
from benchmarks.speed.ground import EDITED, LISTING, NOTICED, ONCE, QUICK, QUIET, SCAN, Scale
from benchmarks.speed.measures import TOO_LONG, Measure, Measures, paired
from benchmarks.speed.parts import PARTS
from benchmarks.speed.processes import Running, answer_of
from benchmarks.speed.readme import readme_table, write_readme
from benchmarks.speed.report import SpeedReport
from benchmarks.speed.servers.floors import read_answer
from benchmarks.trees import Tree, grow

ROOT = Path(__file__).parents[2]
READ = "`resources/read` of 3 KB, 16 in flight: requests a second"
SCALE = Scale(
    (100, 1_000, 5_000),
    rounds=2,
    large_rounds=2,
    often=1_000,
    reads=2,
    turn=0.1,
    edits=1,
    traces=10,
    busy_turn=0.1,
)


def report_of(*measures: Measure) -> SpeedReport:
    return SpeedReport(SCALE, Machine.here(), {"reading": 1.0}, Measures(measures))


def measure(
    what: str, contestant: str, *samples: float, transport: str = STDIO, size: int = 1_000
) -> Measure:
    unit = Unit.COUNT if "second" in what else Unit.SECONDS
    return Measure("reading", what, contestant, transport, size, unit, list(samples))


needs_agentskills = pytest.mark.skipif(
    all(each.name != AGENTSKILLS for each in contestants()),
    reason="`scripts/bench speed` installs it, if there is a Python 3.12 or newer",
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return grow(tmp_path_factory.mktemp("speed") / "tree", 3)


@pytest.mark.parametrize(
    ("name", "transport"),
    [
        (OURS, STDIO),
        (OURS, HTTP),
        (BARE, STDIO),
        (FASTMCP, STDIO),
        (ECHO, STDIO),
        (ROUTE, HTTP),
        (FILE_ROUTE, HTTP),
        (RAW, HTTP),
        pytest.param(AGENTSKILLS, STDIO, marks=needs_agentskills),
        pytest.param(AGENTSKILLS, HTTP, marks=needs_agentskills),
    ],
)
def test_every_server_answers_a_read_and_takes_a_turn(
    tree: Tree, tmp_path: Path, name: str, transport: str
) -> None:
    (contestant,) = (each for each in contestants() if each.name == name)
    answer = tmp_path / "answer"
    answer.write_bytes(b'{"jsonrpc":"2.0","id":1,"result":{"contents":[]}}')
    env = {"SKILLWIRE_CACHE_DIR": str(tmp_path)}
    with Running(contestant, transport, answer if contestant.sends_answer else tree.root, env) as running:
        result = running.ask("resources/read", uri=tree.uri(1))
        if not contestant.sends_answer:
            (content,) = result["contents"]
            assert content["text"].encode() == (tree.folder(1) / "SKILL.md").read_bytes()
        assert b'"result"' in answer_of(running, "resources/read", uri=tree.uri(1))
        turn = running.turn([running.question("resources/read", uri=tree.uri(1))], 4, 20, 60.0)
        assert turn.requests == len(turn.waits) == 20
        assert turn.cpu > 0
        assert running.memory() > 0


def test_trace_context_is_sent_in_each_request(tree: Tree, tmp_path: Path) -> None:
    trace = f"00-{1:032x}-{2:016x}-01"
    (ours,) = (each for each in contestants() if each.name == OURS)
    with Running(ours, STDIO, tree.root, {"SKILLWIRE_CACHE_DIR": str(tmp_path)}) as running:
        traced = running.question("resources/read", trace=trace, uri=tree.uri(1))
        assert json.loads(traced)["params"]["_meta"]["traceparent"] == trace
        assert b"traceparent" not in running.question("resources/read", uri=tree.uri(1))
        assert running.turn([traced], 2, 4, 60.0).requests == 4


def test_file_floor_has_the_same_contents_as_a_server(tree: Tree, tmp_path: Path) -> None:
    (ours,) = (each for each in contestants() if each.name == OURS)
    with Running(ours, STDIO, tree.root, {"SKILLWIRE_CACHE_DIR": str(tmp_path)}) as running:
        (block,) = running.ask("resources/read", uri=tree.uri(1))["contents"]
    answer = read_answer(str(tree.folder(1) / "SKILL.md"), tree.uri(1))
    assert answer["result"]["contents"] == [{name: block[name] for name in ("uri", "mimeType", "text")}]


def test_contestants_are_compared_within_each_round() -> None:
    assert paired([1.0, 100.0, 3.0], [2.0, 50.0, 3.0]) == 1.0
    assert paired([1.0, 2.0], [TOO_LONG]) == 0.0
    assert paired([TOO_LONG], [1.0, 2.0]) == math.inf


def test_target_is_reached_missed_or_not_measured() -> None:
    found = Measures(
        [
            measure(READ, OURS, 3_000.0, 3_000.0),
            measure(READ, FASTMCP, 100.0, 100.0),
            measure(READ, BARE, 1_000.0, 1_000.0),
            measure(LISTING, OURS, 0.01),
            measure(LISTING, FASTMCP, TOO_LONG),
            measure(NOTICED, OURS, 0.2),
        ]
    )
    judged = {(bar.what, bar.against): bar for bar in bars(found, 1_000, 5_000)}
    reached = {key: bar.reached for key, bar in judged.items() if bar.found is not None}
    assert sorted(reached.values()) == [False, False, True, True]
    assert any("skills/list" in what and reached[what, against] for what, against in reached)
    assert sum(bar.found is None for bar in judged.values()) == len(judged) - 4


@pytest.mark.parametrize(("ours", "is_reached"), [(50e-6, True), (60e-6, False)])
def test_each_file_once_is_compared_with_a_bare_read(ours: float, *, is_reached: bool) -> None:
    what = f"{ONCE}: CPU a request"
    found = Measures([measure(what, OURS, ours), measure(what, FILE, 14e-6)])
    (bar,) = (each for each in bars(found, 1_000, 5_000) if each.against == FILE)
    assert bar.reached == is_reached


def test_reads_with_edits_are_compared_with_reads_without() -> None:
    rate = ", 16 in flight: requests a second"
    found = Measures([measure(EDITED + rate, OURS, 90.0, 10.0), measure(QUIET + rate, OURS, 100.0, 10.0)])
    (bar,) = (each for each in bars(found, 1_000, 5_000) if each.found is not None)
    assert (bar.found, bar.wanted, bar.reached) == (0.95, "at least 0.8 times", True)


def test_each_file_once_is_shown_beside_repeated_reads() -> None:
    report = report_of(
        measure(READ, OURS, 3_000.0),
        measure(f"{ONCE}: requests a second", OURS, 2_000.0),
        measure(READ, BARE, 1.0),
    )
    text = report.to_markdown()
    assert "| stdio | skillwire | 2,000 |  | 3,000 |  |" in text
    assert "| stdio | bare SDK |  |  | 1 |  |" in text
    assert "`agentskills-mcp-server` was not measured" in text
    texts = [each.text or "" for each in ET.fromstring(report.to_svg()).iter()]
    assert (
        texts.index("3,000") < texts.index("skillwire, once") < texts.index("2,000") < texts.index("bare SDK")
    )
    assert any("each file once" in text and "repeated" in text for text in texts)


def test_readme_has_the_figures_of_the_last_run() -> None:
    told = json.loads((ROOT / "benchmarks/results/speed.json").read_text(encoding="utf-8"))
    table = readme_table(Measures(map(Measure.read, told["measures"])), 1_000)
    assert table
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")


def test_table_of_the_readme_is_replaced(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    text = "before\n\n<!-- speed: written by scripts/bench speed -->\n{}<!-- speed: end -->\n\nafter\n"
    readme.write_text(text.format("old\n"), encoding="utf-8")
    write_readme(readme, Measures(), 1_000)  # nothing was measured
    assert readme.read_text(encoding="utf-8") == text.format("old\n")
    once = f"{ONCE}: requests a second"
    figures = [measure(what, OURS, 3_000.0, transport=at) for what in (once, READ) for at in (STDIO, HTTP)]
    write_readme(readme, Measures([*figures, measure(once, BARE, 7.0)]), 1_000)
    rows = (
        "| reads per second | Skillwire |\n| --- | ---: |\n"
        "| stdio: each file once / repeated (cached) | 3,000 / 3,000 |\n"
        "| HTTP: each file once / repeated (cached) | 3,000 / 3,000 |\n"
    )
    assert readme.read_text(encoding="utf-8") == text.format(rows)


def test_the_report_shows_every_figure_and_what_did_not_finish() -> None:
    report = report_of(
        measure(READ, OURS, 3_000.0), measure(READ, BARE, 100.0), measure(READ, FASTMCP, TOO_LONG)
    )
    text = report.to_markdown()
    assert "3,000" in text
    assert "> 60 s" in text
    assert "not measured" in text
    told = json.loads(report.to_json())
    assert [each["samples"] for each in told["measures"]] == [[3000.0], [100.0], [None]]
    assert [Measure.read(each) for each in told["measures"]] == list(report.measures)


def test_chart_is_well_formed_and_names_every_server() -> None:
    report = report_of(
        measure(READ, OURS, 3_000.0), measure(READ, BARE, 100.0), measure(READ, FASTMCP, TOO_LONG)
    )
    texts = [each.text for each in ET.fromstring(report.to_svg()).iter() if each.text]
    assert {OURS, BARE, FASTMCP, "3,000", "> 60 s"} <= set(texts)


def test_one_part_can_be_measured_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = report_of(measure(READ, OURS, 1_234.0))
    (tmp_path / "speed.json").write_text(kept.to_json(), encoding="utf-8")
    main(["speed", "--quick", "--only", "scanning", "--output", str(tmp_path)])
    shown = capsys.readouterr().out
    assert shown.rstrip() == (tmp_path / "speed.md").read_text(encoding="utf-8").rstrip()
    told = json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))
    by_part = {part: [each for each in told["measures"] if each["part"] == part] for part in PARTS}
    assert [each["samples"] for each in by_part["reading"]] == [[1234.0]]
    assert {each["size"] for each in by_part["scanning"]} == set(QUICK.sizes)
    assert SCAN in {each["what"] for each in by_part["scanning"]}
    assert str(tmp_path) not in shown
    ET.parse(tmp_path / "speed.svg")
