"""The next catalogue after a small change, at a cost that follows the change and not the catalogue."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from skillwire.catalog.compose import Labelled, Namespace, found_problems
from skillwire.catalog.snapshot import Catalog
from skillwire.model.entry import Entry
from skillwire.model.uri import SKILL_FILE, parents
from skillwire.sources.base import Scan


def amended(catalog: Catalog, before: Scan, after: Scan, scans: Sequence[Labelled]) -> Catalog | None:
    """Return the catalogue of `scans`, made from the one before; None if that could go wrong.

    `before` became `after`, which is part of `scans` already. It goes well as long as the same skills stand
    in the same places, and those that share files changed together: then nobody meets anybody new.
    """
    changed = _changed(before, after)
    if changed is None or len(catalog.entries) != sum(len(labelled.scan.entries) for labelled in scans):
        return None
    entries, files, directories = dict(catalog.entries), dict(catalog.files), dict(catalog.directories)
    uris = {old.uri for old, _ in changed}
    for old, _ in changed:
        if catalog.entries.get(old.uri) is not old or _shares_with_others(catalog, old, uris):
            return None
        for uri in _file_uris(old):
            files.pop(uri, None)
        for uri in _directory_uris(old):
            directories.pop(uri, None)
    among_themselves = Namespace()
    if any(among_themselves.claim(new) is not None for _, new in changed):
        return None
    if any(uri in files for uri in among_themselves.files):
        return None
    entries |= among_themselves.entries
    files |= among_themselves.files
    inside = {uri for _, new in changed for uri in _directory_uris(new)}
    directories |= {uri: tuple(sorted(among_themselves.children[uri])) for uri in inside}
    problems = (*found_problems(scans), *catalog.shared_names.values())
    return replace(catalog, entries=entries, files=files, directories=directories, problems=problems)


def _changed(before: Scan, after: Scan) -> list[tuple[Entry, Entry]] | None:
    """Return the skills that differ, old and new; None if they are not the same skills in the same order."""
    if len(before.entries) != len(after.entries):
        return None
    changed = [(old, new) for old, new in zip(before.entries, after.entries, strict=True) if old is not new]
    return changed if all((old.uri, old.origin) == (new.uri, new.origin) for old, new in changed) else None


def _shares_with_others(catalog: Catalog, old: Entry, changed: set[str]) -> bool:
    """Whether a skill around this one, or inside it, stays as it was."""
    around = (f"{uri}/{SKILL_FILE}" for uri in parents(old.root))
    if any(uri in catalog.entries and uri not in changed for uri in around):
        return True
    return any(catalog.files[uri].entry.uri not in changed for uri in _file_uris(old))


def _file_uris(entry: Entry) -> Iterable[str]:
    return (entry.uri_of(file.path) for file in entry.files)


def _directory_uris(entry: Entry) -> Iterable[str]:
    return (entry.root, *(entry.uri_of(path) for path in entry.directories))
