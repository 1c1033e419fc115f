"""Remember which entries were written into which files, so that `skillwire uninstall` can remove them."""

import hashlib
import json
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from skillwire.core.atomic_write import lock_folder, replace_file
from skillwire.errors import StateError
from skillwire.host.store.folder import make_private
from skillwire.host.store.state import DATABASE

_FILE = "installed.json"
_MAX_BYTES = 1024 * 1024
_MAX_RECORDS = 1000


@dataclass(frozen=True, slots=True)
class InstalledEntry:
    """One entry that was written."""

    client: str
    file: str
    name: str
    """The key of the entry in the file."""
    digest: str
    """The digest of the entry's fields."""
    created: int = 0
    """How many objects around the entry were created with it."""
    new_file: bool = False
    """Whether the file was created with it."""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.client, self.file, self.name


def digest_of(fields: object) -> str:
    """Return the digest of an entry's fields. Their order and layout do not matter."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class InstalledEntries:
    """The records in the state folder."""

    folder: Path

    def read(self) -> list[InstalledEntry]:
        """Return the records. Raises `StateError` if they are damaged."""
        path = self.folder / _FILE
        try:
            with path.open("rb") as opened:
                content = opened.read(_MAX_BYTES + 1)
            if len(content) > _MAX_BYTES:
                raise self._damaged("it is too large")
            found: Any = json.loads(content)
            records = [InstalledEntry(**each) for each in found["entries"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise self._damaged("its content is invalid") from error
        if not all(_is_valid(each) for each in records):
            raise self._damaged("its content is invalid")
        return records

    def prepare(self) -> None:
        """Create the state folder, so that records can be written. Raises `StateError`."""
        known_by = DATABASE if (self.folder / DATABASE).exists() else _FILE
        make_private(self.folder, known_by)

    def add(self, record: InstalledEntry) -> None:
        """Add a record, or replace the record of the same entry. Raises `StateError`."""

        def change(records: list[InstalledEntry]) -> list[InstalledEntry]:
            others = [each for each in records if each.place != record.place]
            return [*others[-_MAX_RECORDS + 1 :], record]

        self._change(change)

    def remove(self, places: Iterable[tuple[str, str, str]]) -> None:
        """Remove the records of some entries. Raises `StateError`."""
        gone = set(places)
        if gone:
            self._change(lambda records: [each for each in records if each.place not in gone])

    def _change(self, change: Callable[[list[InstalledEntry]], list[InstalledEntry]]) -> None:
        with self._writing():
            records = [asdict(each) for each in change(self.read())]
            replace_file(
                self.folder / _FILE, json.dumps({"entries": records}, indent=1).encode(), private=True
            )

    @contextmanager
    def _writing(self) -> Generator[None]:
        try:
            self.prepare()
            with lock_folder(self.folder):
                yield
        except OSError as error:
            raise StateError(f"cannot write `{self.folder / _FILE}`: {error.strerror or error}") from error

    def _damaged(self, reason: str) -> StateError:
        return StateError(
            f"cannot use the list of installed entries `{self.folder / _FILE}`: {reason}",
            hint="move this file away; `skillwire uninstall` then needs `--name`",
        )


def _is_valid(record: InstalledEntry) -> bool:
    texts: list[object] = [record.client, record.file, record.name, record.digest]
    return (
        all(isinstance(each, str) for each in texts)
        and isinstance(cast("object", record.created), int)
        and isinstance(cast("object", record.new_file), bool)
    )
