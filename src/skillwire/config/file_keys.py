"""The keys and tables of the configuration file. All others are refused, so that no restriction is lost."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import cast

from skillwire.core.names import SCHEME, SKILL_FILE, find_close_matches
from skillwire.core.record import Limits
from skillwire.safe_text import quoted

SOURCE_KEYS = ("source", "label", "prefix", "token-env")
VISIBILITY_SIDES = ("assistant", "user")
LIMIT_KEYS = tuple(sorted(field.name for field in fields(Limits)))
CATALOG_KEYS = ("pin",)
CHECK_KEYS = ("select", "ignore", "severity", "baseline")
SEARCH_KEYS = ("semantic", "endpoint", "model", "token-env")
TOP_KEYS = ("sources", "allowed-origins", "limits", "static", "visibility", "check", "catalog", "search")

_INSIDE: Mapping[str, Sequence[str]] = {
    "sources": SOURCE_KEYS,
    "limits": LIMIT_KEYS,
    "check": CHECK_KEYS,
    "catalog": CATALOG_KEYS,
    "search": SEARCH_KEYS,
}
_SKILL_URI = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*://[^\s?#]+/{re.escape(SKILL_FILE)}")


def fault_of_keys(read: Mapping[str, object]) -> str | None:
    """Return what is wrong with the keys in a configuration file, or None.

    The types of the values are checked where they are read.
    """
    if (fault := _unknown(read, TOP_KEYS, "the file")) is not None:
        return fault
    for number, source in enumerate(_list(read.get("sources")), start=1):
        if (fault := _unknown(source, SOURCE_KEYS, f"source number {number}")) is not None:
            return fault
    for table in ("limits", "check", "catalog", "search"):
        if (fault := _unknown(read.get(table), _INSIDE[table], f"`[{table}]`")) is not None:
            return fault
    visibility = read.get("visibility")
    if not isinstance(visibility, Mapping):
        return None
    for uri, sides in cast("Mapping[str, object]", visibility).items():
        if (fault := _fault_of_visibility(uri, sides)) is not None:
            return fault
    return None


def _fault_of_visibility(uri: str, sides: object) -> str | None:
    if (fault := _unknown(sides, VISIBILITY_SIDES, f"the visibility of {quoted(uri)}")) is not None:
        return fault
    if "*" in uri:
        return (
            f"the visibility of {quoted(uri)} is a pattern, and the file names each skill; "
            "`skillwire visibility PATTERN --assistant off` writes one entry for each skill that matches"
        )
    if _SKILL_URI.fullmatch(uri) is None:
        form = _likely_uri(uri)
        return f"{quoted(uri)} in `[visibility]` is not the URI of a skill; write {quoted(form)}"
    return None


def _likely_uri(text: str) -> str:
    """Return the URI of the skill that a text probably means."""
    path = text.partition("://")[2] or text
    path = re.sub(rf"(?:/+{SKILL_FILE})?/*$", "", path, flags=re.IGNORECASE).strip("/")
    clean = "/".join(filter(None, re.split(r"[\s?#/]+", path)))
    return f"{SCHEME}{clean or 'deploy'}/{SKILL_FILE}"


def _unknown(table: object, known: Sequence[str], where: str) -> str | None:
    """Return the fault of the first unknown key in a table, with the nearest known key; else None."""
    if not isinstance(table, Mapping):
        return None
    for key in cast("Mapping[str, object]", table):
        if key not in known:
            return f"{where} has no setting {quoted(key)}; {_meant(key, known)}"
    return None


def _meant(key: str, known: Sequence[str]) -> str:
    near = find_close_matches(key.lower().replace("_", "-"), known, 1)
    return f"did you mean {quoted(near[0])}?" if near else f"the settings are {_all(known)}"


def _all(known: Iterable[str]) -> str:
    return ", ".join(map(quoted, known))


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
