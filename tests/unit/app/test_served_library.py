"""What areas add to a server: their sources, and what each sees of the others."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from skillwire import Catalog, MemorySource, Problem
from skillwire.app.areas import serve_parts
from skillwire.app.gateway import ServedLibrary, open_served_library, start
from skillwire.area import AddedSource, ServePart, ServerContext, ServeRequest
from skillwire.config.file import ConfigFile
from skillwire.config.source_config import LibraryOptions
from skillwire.errors import SourceError, UsageError
from skillwire.features.addition import AddedFeatures
from skillwire.sources import MemorySkill, Rule, Severity
from tests.support.skills import skill_md, write_skill

pytestmark = pytest.mark.anyio

PROBLEM = Problem("hello/SKILL.md", Rule.NAME_FORMAT, Severity.ERROR, "it is rude")


def memory(label: str) -> MemorySource:
    return MemorySource([MemorySkill("hello", {"SKILL.md": skill_md("hello")})], label=label)


class Bringing(ServePart):
    """Brings a source, as a part with live skills does."""

    sources = (AddedSource("live", "a test", memory),)


class Reporting(ServePart):
    def features(self, server: ServerContext) -> AddedFeatures:
        def problems(_catalog: Catalog) -> tuple[Problem, ...]:
            return (PROBLEM,)

        return AddedFeatures(problems=problems)


class Noting(ServePart):
    """Notes the problems that it is shown."""

    def __init__(self) -> None:
        self.seen: tuple[Problem, ...] | None = None

    def features(self, server: ServerContext) -> None:
        self.seen = server.problems(server.library.catalog)


class Refusing(ServePart):
    def loaded(self, server: ServerContext) -> None:
        raise SourceError(f"{len(server.library.catalog.entries)} skills are too many")


def opened(
    folder: Path | None, parts: Sequence[ServePart], config: ConfigFile | None = None
) -> ServedLibrary:
    named = [] if folder is None else [str(folder)]
    return open_served_library(named, LibraryOptions(), config, parts=parts)


@pytest.fixture
def live(tmp_path: Path) -> Path:
    write_skill(tmp_path / "live", "refunds")
    return tmp_path / "live"


def test_a_source_of_a_part_gets_a_free_label(live: Path) -> None:
    served = opened(live, [Bringing()])
    assert [source.label for source in served.library.sources] == ["live", "live-2"]
    facts = served.admin.sources()[-1]
    assert (facts.label, facts.kind, facts.given_by, facts.removable) == ("live-2", "live", "a test", False)


async def test_server_with_a_source_of_an_area_needs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SKILLS_DIR", raising=False)
    with pytest.raises(UsageError):
        opened(None, [])
    served = opened(None, [Bringing()])
    await served.library.load()
    assert list(served.library.catalog.entries) == ["skill://hello/SKILL.md"]


def test_configured_static_mode_does_not_freeze_sources_of_parts(live: Path, tmp_path: Path) -> None:
    config = ConfigFile(tmp_path / "config.toml")
    config.path.write_text("static = true\n", encoding="utf-8")
    assert opened(live, [], config).library.frozen
    assert not opened(live, [Bringing()], config).library.frozen


def test_a_part_sees_the_problems_that_others_report(live: Path) -> None:
    before, after = Noting(), Noting()
    served = opened(live, [before, Reporting(), after])
    assert (before.seen, after.seen) == ((), (PROBLEM,))
    assert served.context.problems(served.library.catalog) == (PROBLEM,)
    assert len(served.additions) == 1


async def test_a_part_can_refuse_to_start(live: Path) -> None:
    with pytest.raises(SourceError, match="1 skills are too many"):
        await start(opened(live, [Refusing()]))


def test_search_and_pages_are_part_of_every_server() -> None:
    parts = serve_parts({}, ServeRequest())
    assert [type(part).__name__ for part in parts] == ["SearchPart", "PagesPart"]
    assert not any(part.lets_in for part in parts)
    _, pages = serve_parts({}, ServeRequest(editable=True))
    assert "--allow-config" in pages.lets_in


@pytest.mark.parametrize("good", [0, 1])
async def test_a_source_without_skills_says_why_at_the_start(
    live: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], good: int
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/SKILL.md").write_text("---\nname: broken\n---\n", encoding="utf-8")
    folders = [str(tmp_path / "broken"), *([str(live)] * good)]
    await start(open_served_library(folders, LibraryOptions(), None))
    said = capsys.readouterr().err
    assert f"error: {tmp_path}/broken/SKILL.md: description: the skill has no description; write" in said
    assert "1 error, 0 warnings" in said
    assert "skillwire check" not in said
