"""Measure how well searches find the right skills, on labelled queries."""

import gzip
import json
import os
import random
import re
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.search.contestants import LIMIT, Contestant, LinearScan, PlainFts5, Text
from skillwire import FolderSource, Library

DATA = "SKILLWIRE_RETRIEVAL_DATA"
"""The environment variable with the folder of labelled queries: `skills.jsonl.gz` and JSON files."""
QUERIES = {"tasks": "tasks.json", "short queries": "short.json"}
OURS, FTS5, LINEAR = "Skillwire", "plain FTS5", "linear scan"
MAX_QUERY_BYTES = 8 * 1024
_ROUNDS = 2_000
"""Number of resamples for the intervals."""
_HEADER = re.compile(
    r"---\nname: (?P<name>.*)\ndescription: (?P<description>.*?)\n---\n(?P<body>.*)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Share:
    """A mean of values between 0 and 1, one per query, with an interval that contains 95 % of resamples."""

    mean: float
    low: float
    high: float
    queries: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Share":
        if not values:
            return cls(0, 0, 0, 0)
        made = random.Random(1)
        means = sorted(statistics.fmean(made.choices(values, k=len(values))) for _ in range(_ROUNDS))
        edge = _ROUNDS // 40
        return cls(statistics.fmean(values), means[edge], means[-edge - 1], len(values))

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})" if self.queries else ""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to one query."""

    uris: Sequence[str]
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Quality:
    """How well one contestant did on one set of queries."""

    queries: str
    contestant: str
    hit: Share
    """How often the first result is right or useful."""
    recall: Share
    """The share of right skills among the first ten."""
    refused: Share
    """How often a query without a right skill found nothing, or only weak results."""


def data_folder() -> Path | None:
    """Return the folder of labelled queries, or None if it is not set."""
    return Path(found) if (found := os.environ.get(DATA)) else None


async def measure(data: Path) -> list[Quality]:
    """Ask every contestant all labelled queries in `data`."""
    texts = [_text_of(json.loads(line)) for line in _lines(data / "skills.jsonl.gz")]
    with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
        _write(Path(folder), texts)
        library = Library([FolderSource(folder)])
        missing = {uri for uri, _ in texts} - (await library.load()).entries.keys()
        assert not missing, f"not served: {sorted(missing)[:3]}"

        async def ours(query: str) -> Found:
            found = await library.search(_shortened(query), limit=LIMIT)
            return Found([each.uri for each in found.results], found.weak)

        known = [_parts(uri, document) for uri, document in texts]
        asked: dict[str, Callable[[str], Awaitable[Found]]] = {
            OURS: ours,
            FTS5: _asking(PlainFts5(known)),
            LINEAR: _asking(LinearScan(known)),
        }
        return [
            await _quality(name, contestant, ask, json.loads((data / file).read_text("utf-8")))
            for name, file in QUERIES.items()
            for contestant, ask in asked.items()
        ]


def _write(folder: Path, texts: Sequence[tuple[str, str]]) -> None:
    for uri, document in texts:
        path = folder / uri.removeprefix("skill://")
        path.parent.mkdir(parents=True)
        path.write_text(document, encoding="utf-8")


async def _quality(
    name: str, contestant: str, ask: Callable[[str], Awaitable[Found]], queries: Sequence[Mapping[str, Any]]
) -> Quality:
    hits: list[float] = []
    recalls: list[float] = []
    refused: list[float] = []
    for each in queries:
        found = await ask(each["query"])
        relevant = {f"skill://{key}/SKILL.md": grade for key, grade in each["relevant"].items()}
        if not relevant:
            refused.append(not found.uris or found.weak)
            continue
        hits.append(bool(found.uris) and found.uris[0] in relevant)
        if right := {uri for uri, grade in relevant.items() if grade == 2}:
            recalls.append(len(right.intersection(found.uris[:LIMIT])) / len(right))
    return Quality(name, contestant, Share.of(hits), Share.of(recalls), Share.of(refused))


def _asking(contestant: Contestant) -> Callable[[str], Awaitable[Found]]:
    async def ask(query: str) -> Found:
        return Found(contestant.search(query))

    return ask


def _shortened(query: str) -> str:
    return query.encode()[:MAX_QUERY_BYTES].decode(errors="ignore")


def _lines(path: Path) -> Sequence[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.readlines()


def _text_of(found: Mapping[str, str]) -> tuple[str, str]:
    return f"skill://{found['id']}/SKILL.md", found["text"]


def _parts(uri: str, document: str) -> Text:
    if (found := _HEADER.match(document)) is None:
        return Text(uri, uri.split("/")[-2], "", document)
    return Text(uri, found["name"], found["description"], found["body"])
