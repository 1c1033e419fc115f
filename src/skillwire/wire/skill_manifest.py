"""Reads the manifest of a skill as FastMCP had it before the extension: `skill://{name}/_manifest`."""

from collections.abc import Mapping
from typing import cast
from urllib.parse import quote

import orjson

from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.json_text import JsonTooLargeError, load_bounded_json
from skillwire.model.limits import Limits
from skillwire.model.uri import SKILL_FILE
from skillwire.wire.dialect import Dialect
from skillwire.wire.entry_rules import is_object, name_faults, path_fault, uri_faults
from skillwire.wire.findings import Fault, Finding
from skillwire.wire.messages import MANIFEST
from skillwire.wire.remote import RemoteFile, RemoteSkill, checked_files, promised_file

_MAX_VALUES = 20_000
"""JSON values in one manifest."""


def read_manifest(
    uri: str, content: bytes, told: Mapping[str, Json], limits: Limits
) -> RemoteSkill | list[Finding]:
    """Return the skill whose manifest is at `uri`, or everything that is wrong with it. Never raises.

    `told` is what else is known of its frontmatter.
    """
    root = uri.removesuffix(f"/{MANIFEST}")
    main = f"{root}/{SKILL_FILE}"
    try:
        document = load_bounded_json(content, max_values=_MAX_VALUES)
    except JsonTooLargeError as error:
        return [Finding(uri, Fault.ENTRY_LIMITS, str(error))]
    except orjson.JSONDecodeError as error:
        return [Finding(uri, Fault.ENTRY_SHAPE, f"it is not JSON: {error}")]
    listed: object = document.get("files") if is_object(document) else None
    if not is_object(document) or not isinstance(listed, list):
        return [Finding(uri, Fault.ENTRY_SHAPE, "it has no list `files`")]
    items = cast("list[object]", listed)
    found = [*uri_faults(main), *name_faults(main, document.get("skill"))]
    files = checked_files(main, (_file(root, item) for item in items), len(items), limits)
    if found or isinstance(files, list):
        return [*found, *(files if isinstance(files, list) else ())]
    return RemoteSkill(main, {**told, "name": str(document["skill"])}, files, Dialect.MANIFEST)


def _file(root: str, item: object) -> RemoteFile | Finding:
    main = f"{root}/{SKILL_FILE}"
    path = item.get("path") if is_object(item) else None
    if not is_object(item) or not isinstance(path, str):
        return Finding(main, Fault.ENTRY_RESOURCES, "a file of its manifest has no `path`")
    if fault := path_fault(path):  # before it is encoded, and again after
        return Finding(main, Fault.ENTRY_RESOURCES, f"the file {quoted(path)} {fault}")
    try:
        address = f"{root}/{quote(path)}"  # as FastMCP spells it: it reads no other spelling
    except UnicodeEncodeError:
        return Finding(main, Fault.ENTRY_RESOURCES, f"the file {quoted(path)} holds half a character")
    return promised_file(main, address, item.get("hash"), item.get("size"))
