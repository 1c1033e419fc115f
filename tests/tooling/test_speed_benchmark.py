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
from benchmarks.speed.contestants import BARE, ECHO, FASTMCP, HTTP, OURS, RAW, ROUTE, STDIO, contestants
from benchmarks.speed.ground import LISTING, NOTICED, QUICK, SCAN, Scale
from benchmarks.speed.measures import TOO_LONG, Measure, Measures, paired
from benchmarks.speed.parts import PARTS
from benchmarks.speed.processes import Running, answer_of
from benchmarks.speed.report import SpeedReport
from benchmarks.trees import Tree, grow

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


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return grow(tmp_path_factory.mktemp("speed") / "tree", 3)


@pytest.mark.parametrize(
    ("name", "transport"),
    [(OURS, STDIO), (OURS, HTTP), (BARE, STDIO), (FASTMCP, STDIO), (ECHO, STDIO), (ROUTE, HTTP), (RAW, HTTP)],
)
def test_every_server_answers_a_read_and_takes_a_turn(
    tree: Tree, tmp_path: Path, name: str, transport: str
) -> None:
    (contestant,) = (each for each in contestants() if each.name == name)
    answer = tmp_path / "answer"
    answer.write_bytes(b'{"jsonrpc":"2.0","id":1,"result":{"contents":[]}}')
    env = {"SKILLWIRE_CACHE_DIR": str(tmp_path)}
    with Running(contestant, transport, answer if contestant.is_floor else tree.root, env) as running:
        result = running.ask("resources/read", uri=tree.uri(1))
        if not contestant.is_floor:
            (content,) = result["contents"]
            assert content["text"].encode() == (tree.folder(1) / "SKILL.md").read_bytes()
        assert b'"result"' in answer_of(running, "resources/read", uri=tree.uri(1))
        turn = running.turn([running.question("resources/read", uri=tree.uri(1))], 4, 20, 60.0)
        assert turn.requests == len(turn.waits) == 20
        assert turn.cpu > 0
        assert running.memory() > 0


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
