"""The progress bar of slow scans and checks."""

import io
from types import SimpleNamespace

import pytest

from skillwire.config.library import scanning, show_progress


class Terminal(io.StringIO):
    """A stderr that people look at."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("skillwire.terminal.progress_bar.time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


def test_a_quick_scan_shows_no_progress(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with scanning() as report:
        report(256)
        clock.now += 0.9
        report(512)
    assert terminal.getvalue() == ""


def test_a_slow_scan_shows_how_far_it_is(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with scanning() as report:
        report(256)
        clock.now += 1.1
        report(512)
        assert "scanning for skills" in terminal.getvalue()
        report(1024)
    shown = terminal.getvalue()
    assert "1,024 files and folders" in shown
    assert shown.endswith("\x1b[2K")  # and it takes itself away


def test_progress_starts_with_what_was_seen_already(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with scanning() as report:
        clock.now += 1.1
        report(768)
    assert "768 files and folders" in terminal.getvalue()


def test_progress_goes_away_when_a_scan_fails(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())

    def fail() -> None:
        with scanning() as report:
            clock.now += 1.1
            report(1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert terminal.getvalue().endswith("\x1b[2K")


def test_a_slow_scan_into_a_pipe_shows_nothing(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", pipe := io.StringIO())
    with scanning() as report:
        clock.now += 100
        report(1_000_000)
    assert pipe.getvalue() == ""


def test_progress_of_known_size_shows_the_total(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with show_progress("checking texts", "skills", 100_000) as report:
        report(100)
        clock.now += 1.1
        report(25_000)
    shown = terminal.getvalue()
    assert "checking texts" in shown
    assert "25,000 of 100,000 skills" in shown
    assert shown.endswith("\x1b[2K")
