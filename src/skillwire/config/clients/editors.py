"""What editors have in common: a folder that is open, variables of their own, and files of variables."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from skillwire.config.clients.declared import Entry, either
from skillwire.config.clients.document import Place
from skillwire.config.clients.surroundings import Surroundings
from skillwire.config.clients.variables import EntryError, Variables, of_an_editor
from skillwire.host.reaching.target import Target

_MAX_BYTES = 1024 * 1024


def editor_variables(place: Place, around: Surroundings) -> Variables:
    """Return the variables that a file may use: the folder that is open is the project."""
    workspace = place.project or around.projects[-1]
    return of_an_editor(around.environment, around.home, workspace)


def with_env_file(make: Callable[[Entry], Target] = either) -> Callable[[Entry], Target]:
    """Return how to read an entry that may name a file with more variables for its program."""

    def read(entry: Entry) -> Target:
        target = make(entry)
        if target.url is not None or not entry.has("envFile"):
            return target
        path = (entry.folder or Path()) / Path(entry.text("envFile")).expanduser()
        if entry.folder is not None and not path.resolve().is_relative_to(entry.folder.resolve()):
            raise EntryError("its `envFile` is outside of the project")
        entry.added += (f"the variables in {path}",)
        return replace(target, env={**_variables(path), **target.env})

    return read


def _variables(path: Path) -> dict[str, str]:
    """Return the variables in a file: a line for each, `NAME=value`, perhaps with quotes."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            raise EntryError("its `envFile` is not there, or too large")
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise EntryError("its `envFile` cannot be read") from error
    pairs = (line.removeprefix("export ").partition("=") for line in map(str.strip, lines) if line[:1] != "#")
    return {name.strip(): _unquoted(value.strip()) for name, equals, value in pairs if equals}


def _unquoted(value: str) -> str:
    quotes = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quotes else value
