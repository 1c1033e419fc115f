"""What people are told in plain lines, on stderr. A server says all that it has to say with this.

What has colours is in `output`, which takes longer to load.
"""

import shlex
import sys

from skillwire.catalog.library import Library
from skillwire.model.display import visible

NO_SKILLS = "no skills here; a skill is a folder with a `SKILL.md` in it"


def say(text: str) -> None:
    """Print a line that is not a result."""
    sys.stderr.write(f"{text}\n")


def check_shows(library: Library) -> str:
    """Return the command that shows the problems of these sources, as the beginning of a sentence."""
    there = (source for source in library.sources if source.place and source not in library.waited_for)
    places = " ".join(visible(shlex.quote(source.place)) for source in there)
    return f"`skillwire check {places}` shows"


def counted(number: int, noun: str) -> str:
    """Return `1 skill`, `2 skills`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
