"""Paths within a skill: what its documents write, and which of its files they mean (H14, H19)."""

import posixpath
from urllib.parse import quote, unquote

from skillwire.model.display import quoted
from skillwire.model.path import folded
from skillwire.model.plain import plain
from skillwire.wire.findings import Fault, Finding, FindingError
from skillwire.wire.remote import RemoteFile, RemoteSkill

_SHOWN = 200
_UNRESERVED = "!$&'()*+,;=:@/"


def shown_path(skill: RemoteSkill, uri: str) -> str:
    """Return the path of a file of the skill, as people and models are shown it (H27)."""
    return plain(unquote(uri.removeprefix(f"{skill.root}/")), _SHOWN)


def relative(path: str) -> str:
    """Return a reference without what means nothing. Raises `FindingError` for one that leads out (H19).

    It is meant from the folder of the skill's `SKILL.md`, wherever it was read. An empty one is that folder.
    """
    decoded = unquote(path)
    segments = [segment for segment in path.split("/") if segment not in {"", "."}]
    leads_out = ".." in decoded.replace("\\", "/").split("/") or decoded.startswith(("/", "\\"))
    if leads_out or "\\" in decoded or not decoded.isprintable():
        raise FindingError(
            Finding(path[:_SHOWN], Fault.UNLISTED, "that is no path below the folder of the skill")
        )
    return "/".join(segments)


def canonical(uri: str) -> str:
    """Return one spelling for all that a server may take for one URI: decoded, folded, without detours."""
    return folded(posixpath.normpath(unquote(uri)))


def listed_file(skill: RemoteSkill, path: str) -> RemoteFile | None:
    """Return the file of the entry that a reference means, spelled as in a document or as in a URI (H14)."""
    files = {file.uri: file for file in skill.files or ()}
    if path in files:
        return files[path]
    wanted = relative(path)
    paths = {unquote(uri.removeprefix(f"{skill.root}/")): file for uri, file in files.items()}
    return paths.get(wanted) or paths.get(unquote(wanted))


def files_below(skill: RemoteSkill, path: str) -> list[RemoteFile]:
    """Return the files of the entry that are in a folder, however deep."""
    wanted = unquote(relative(path))
    below = f"{wanted}/" if wanted else ""
    return [
        file
        for file in skill.files or ()
        if unquote(file.uri.removeprefix(f"{skill.root}/")).startswith(below)
    ]


def live_uri(skill: RemoteSkill, path: str) -> str:
    """Return the URI of a file that no entry lists, because content is made when it is read (S9)."""
    if path.startswith(f"{skill.root}/"):
        path = path.removeprefix(f"{skill.root}/")
    return f"{skill.root}/{quote(unquote(relative(path)), safe=_UNRESERVED)}"


def unlisted(skill: RemoteSkill, path: str) -> Finding:
    """Return what is wrong with reading a file that the entry does not list: it is no file of the skill."""
    told = f"{quoted(path)} is not among its files; an empty path lists them"
    return Finding(skill.uri, Fault.UNLISTED, told)
