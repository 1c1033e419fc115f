"""Trust is a field of a record: without it there is none, and nothing on the way loses or invents it."""

from dataclasses import replace

import orjson
import pytest

from skillwire import Library, MemorySource, ServerSource, SkillRecord, Source
from skillwire.core.record import Withheld
from skillwire.errors import InvalidValueError
from skillwire.features.resources import ProblemsDocument
from skillwire.host import Trust
from skillwire.library import Change
from skillwire.library.compose import LabelledScan, compose
from skillwire.library.library_source import LibrarySource
from skillwire.server import skills_server
from skillwire.sources import LiveFile, Origin, PrefixedSource, Progress, Scan, ignore_progress
from tests.support.clients import skill
from tests.support.links import Wire

pytestmark = pytest.mark.anyio

WHY = Withheld("nobody approved it", "approve it")
FOREIGN = Origin("acme", "skill://a/SKILL.md", "a/SKILL.md", foreign=True)


def record(trust: Trust, withheld: Withheld | None = None, origin: Origin = FOREIGN) -> SkillRecord:
    return SkillRecord(
        "skill://a/SKILL.md",
        {"name": "a", "description": "Does one thing."},
        (LiveFile("SKILL.md", "text/markdown"),),
        (),
        origin,
        trust=trust,
        withheld=withheld,
    )


class _Holding(Source):
    label = "acme"

    def __init__(self, *entries: SkillRecord) -> None:
        self._entries = entries

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        progress(0)
        return Scan(self._entries)

    async def read(self, entry: SkillRecord, file: object) -> bytes:
        raise NotImplementedError


def test_a_record_without_trust_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="trust"):
        SkillRecord("skill://a/SKILL.md", {}, (), (), FOREIGN)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("trust", "withheld"), [(Trust.WITHHELD, None), (Trust.OWN, WHY), (Trust.APPROVED, WHY)]
)
def test_a_withheld_record_says_why_and_no_other_does(trust: Trust, withheld: Withheld | None) -> None:
    with pytest.raises(InvalidValueError, match="trust"):
        record(trust, withheld)


def test_trust_decision_makes_a_new_record() -> None:
    withheld, approved = record(Trust.WITHHELD, WHY), record(Trust.APPROVED)
    assert len({withheld.trust, approved.trust, record(Trust.OWN).trust}) == 3
    assert withheld != approved
    assert withheld != replace(withheld, withheld=Withheld("it changed", "approve it"))
    assert approved != replace(approved, origin=replace(FOREIGN, foreign=False))


def test_moving_a_record_keeps_its_trust_and_origin() -> None:
    moved = record(Trust.WITHHELD, WHY).below("acme")
    assert (moved.trust, moved.withheld, moved.origin.foreign) == (Trust.WITHHELD, WHY, True)


@pytest.mark.parametrize("trust", list(Trust))
async def test_sources_around_others_keep_trust_and_origin(trust: Trust) -> None:
    entry = record(trust, WHY if trust is Trust.WITHHELD else None)
    inner = Library([_Holding(entry)])
    for source in (PrefixedSource(_Holding(entry), "team"), LibrarySource(inner, label="inner")):
        (found,) = (await source.scan()).entries
        assert (found.trust, found.withheld, found.origin.foreign) == (trust, entry.withheld, True)


async def test_a_server_is_withheld_unless_it_is_trusted() -> None:
    wire = Wire(skills_server(Library([MemorySource([skill("a")])])))
    async with wire.link() as link:
        for trusted, trust in ((False, Trust.WITHHELD), (True, Trust.OWN)):
            library = Library([ServerSource(link, trusted=trusted)])
            (found,) = (await library.load()).entries.values()
            assert found.trust is trust
            assert found.origin.foreign
            assert library.catalog.withheld == (() if trusted else (found,))


async def test_withheld_skill_is_reported_with_the_problems() -> None:
    document = ProblemsDocument()
    before, after = (
        compose([LabelledScan("acme", Scan((each,)))])
        for each in (record(Trust.WITHHELD, WHY), record(Trust.APPROVED))
    )
    assert before.problems == ()
    assert document.listed(before)
    assert not document.listed(after)
    assert document.differs(Change.between(before, after))
    assert orjson.loads(await document.render(before)) == {
        "problems": [
            {
                "path": "a/SKILL.md",
                "line": None,
                "field": "",
                "rule": "not-approved",
                "severity": "warning",
                "message": "hidden from models and people: nobody approved it",
                "hint": "approve it",
            }
        ]
    }
    assert orjson.loads(await document.render(after)) == {"problems": []}
