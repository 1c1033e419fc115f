"""The page of a published site, `index.html`: people read and search it without any server.

The page is complete in itself. It loads nothing, and all its links are relative, so it works from a disk and
below any path. The same skills always give the same bytes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from urllib.parse import quote

from skillwire.core.html import inline_hashes
from skillwire.core.record import SkillRecord
from skillwire.protocol.discovery import WELL_KNOWN_FOLDER, Artifact
from skillwire.safe_text import collapse_lines, escape_invisible

PAGE_FILE = "index.html"
_SITE = "https://YOUR-SITE"
"""Stands for the address of the site. A script in the page replaces it, unless the page is a local file."""
_MAX_FILES = 200
"""Maximum number of files that the page lists for one skill."""
_LITERAL = re.compile(r"(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)", re.DOTALL)
_KIB = 1024


@dataclass(frozen=True, slots=True)
class PublishedSkill:
    """What the page says about one skill."""

    name: str
    description: str
    download: str
    """The path of the download below the folder of the index."""
    files: tuple[tuple[str, int], ...]
    """The path below the skill's folder, and the size, of each file."""

    @classmethod
    def of(cls, entry: SkillRecord, artifact: Artifact, files: Mapping[str, bytes]) -> "PublishedSkill":
        """Describe a skill with these files, by path below the folder of the index."""
        folder = f"{artifact.name}/"
        own = tuple(
            (path.removeprefix(folder), len(content))
            for path, content in files.items()
            if path.startswith(folder)
        )
        return cls(artifact.name, entry.description, artifact.url, own)


def render_site_page(skills: Iterable[PublishedSkill]) -> bytes:
    """Return the page that lists these skills by name."""
    listed = sorted(skills, key=lambda skill: skill.name)
    html = _template()
    policy = (
        f"default-src 'none'; script-src {inline_hashes(html, 'script')}; "
        f"style-src {inline_hashes(html, 'style')}; img-src data:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'"
    )
    parts = {
        "<!--policy-->": f'<meta http-equiv="Content-Security-Policy" content="{policy}" />',
        "<!--tally-->": f"{len(listed):,} skill{'' if len(listed) == 1 else 's'}",
        "<!--use-->": _use(listed),
        "<!--skills-->": "\n".join(map(_skill, listed)),
    }
    # One pass over the template: text of a skill that looks like a placeholder stays as it is.
    return re.sub("|".join(map(re.escape, parts)), lambda found: parts[found[0]], html).encode()


@cache
def _template() -> str:
    from importlib.resources import files  # noqa: PLC0415 - only `publish` needs it

    return files("skillwire.features").joinpath("assets", "site.html").read_text(encoding="utf-8")


def _use(skills: Sequence[PublishedSkill]) -> str:
    """Return how to use the site. Skillwire finds a site only at the root of an address."""
    example = skills[0].name if skills else "NAME"
    return (
        '<section class="card use" aria-labelledby="use"><h2 class="sr" id="use">Use these skills</h2>'
        f"<details><summary>Use these skills</summary>{_note()}"
        f"<h3>Copy them into a project</h3>{_command(f'npx skills add {_SITE}')}"
        '<div class="at-root"><h3>Add them to an MCP client</h3>'
        f"{_command(f'skillwire install {_SITE} --client cursor')}"
        f"<h3>Read one of them</h3>{_command(f'skillwire read {example} --from {_SITE}')}"
        "</div></details></section>"
    )


def _note() -> str:
    site = _code(_SITE)
    return f'<p class="note placeholder">Write the address of this site in place of {site}.</p>'


def _skill(skill: PublishedSkill) -> str:
    name = escape(skill.name)
    download = _link(skill.download, "Download", "download")
    shown = "".join(_file(skill.name, path, size) for path, size in skill.files[:_MAX_FILES])
    more = len(skill.files) - _MAX_FILES
    rest = f"<p>And {more:,} more, in the download.</p>" if more > 0 else ""
    count = f"{len(skill.files):,} file{'' if len(skill.files) == 1 else 's'}"
    return (
        f'<li class="card" id="skill-{name}"><article aria-labelledby="name-{name}">'
        f'<div class="says"><h2 id="name-{name}"><a href="#skill-{name}">{name}</a></h2>'
        f'<p dir="auto">{_text(skill.description)}</p></div>'
        f'<details><summary>{count}, and how to use it<span class="sr">: {name}</span></summary>'
        f"<h3>Copy it into a project</h3>{_command(f'npx skills add {_SITE} --skill {skill.name}')}"
        f'<h3>Files</h3><ul class="files">{shown}</ul>{rest}'
        f'<p class="whole">{download}</p></details></article></li>'
    )


def _file(name: str, path: str, size: int) -> str:
    return f"<li>{_link(f'{name}/{path}', escape_invisible(path))}<span>{_size(size)}</span></li>"


def _link(path: str, text: str, kind: str = "") -> str:
    """Return a link to a file below the folder of the index."""
    address = f"{WELL_KNOWN_FOLDER}/{quote(path, safe='/')}"
    attribute = f' class="{kind}"' if kind else ""
    return f'<a{attribute} href="{escape(address)}" dir="ltr">{escape(text)}</a>'


def _command(words: str) -> str:
    return f"<pre>{_code(words)}</pre>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _text(text: str) -> str:
    """Return text as HTML. Text in backticks is code, and invisible characters are visible."""
    parts: list[str] = []
    end = 0
    shown = collapse_lines(text)
    for found in _LITERAL.finditer(shown):
        parts += escape(shown[end : found.start()]), _code(found[2])
        end = found.end()
    return "".join((*parts, escape(shown[end:])))


def _size(size: int) -> str:
    if size < _KIB:
        return f"{size} B"
    return f"{size / _KIB:.1f} KB" if size < _KIB * _KIB else f"{size / _KIB / _KIB:.1f} MB"
