"""The skills that real clients are tested with: good ones, and every kind of fault in public skill sets.

`write_fixture(folder)` writes them and returns what a client must find, as plain JSON values. This file, not
Skillwire, defines which skills conform. So a client's check fails if the list wrongly omits a skill.
"""

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

# Percent-encode a path. RFC 3986 allows these characters unencoded.
encoded = partial(quote, safe="/:@!$&'()*+,;=~")
EVERY_BYTE = bytes(range(256)) * 4  # decoding it as text or converting line endings would change it
PNG = b"\x89PNG\r\n\x1a\n" + EVERY_BYTE
SCRIPT = "#!/bin/sh\necho ready\n"
EXECUTABLE = "scripts/check.sh"
FOLDER = ("finance/refunds", "references")  # a skill, and its folder that the directory checks read


def document(name: str, fields: str = "", *, description: str = "") -> str:
    """Return a `SKILL.md`. `fields` are further lines of frontmatter."""
    described = description or f"Tries out {name}. Use when a client is tested."
    return f"---\nname: {name}\ndescription: {described}\n{fields}---\n\n# {name}\n\nRead `references/`.\n"


# Path of the skill -> its files. They conform: every client must list them and read every byte.
CONFORMING: Mapping[str, Mapping[str, str | bytes]] = {
    "greeting": {"SKILL.md": document("greeting")},
    "finance/refunds": {
        "SKILL.md": document(
            "refunds",
            "license: MIT\ncompatibility: Needs a shell.\nallowed-tools: Read Bash(git:*)\n"
            'metadata:\n  author: acme\n  version: "1.0"\n',
        ),
        "references/policy.md": "# Policy\n\nThirty days.\n",
        "references/deep/er/notes.md": "Deep notes.\n",
        "references/größe mit Leerzeichen.md": "Größe: 1 €\n",
        "references/100% #1.md": "A name with a percent sign and a hash.\n",
        "references/%20literal.md": "A name that looks percent-encoded.\n",
        EXECUTABLE: SCRIPT,
        "assets/logo.png": PNG,
        "assets/every.bin": EVERY_BYTE,
        "assets/empty.txt": "",
        "assets/crlf.txt": b"one\r\ntwo\r\n",
        "assets/bom.txt": "\ufeffmarked\n",
    },
    "finance/eu/vat-rates": {
        "SKILL.md": document("vat-rates", description='"Rates: 7 % and 19 %. Übersicht, 税率 \U0001f600."'),
        "references/rates.json": '{"de": 19}\n',
    },
    "long-description": {"SKILL.md": document("long-description", description="x" * 1024)},
    "unknown-fields": {
        "SKILL.md": document(
            "unknown-fields", "version: 2\ntags: [one, two]\nx-acme: {nested: {deep: true}, none: null}\n"
        ),
    },
}

# They conform too, but a YAML 1.1 parser reads a different value. Every client must list them. A client that
# compares the frontmatter with such a parser may refuse to read them.
AMBIGUOUS: Mapping[str, Mapping[str, str | bytes]] = {
    "yaml-yes": {"SKILL.md": document("yaml-yes", "reviewed: yes\n")},
    "yaml-octal": {"SKILL.md": document("yaml-octal", "mode: 0755\n")},
    "yaml-date": {"SKILL.md": document("yaml-date", "metadata:\n  since: 2026-01-01\n")},
    "yaml-exponent": {"SKILL.md": document("yaml-exponent", "limit: 1e3\n")},
    "yaml-folded-end": {"SKILL.md": document("yaml-folded-end", "note: >\n  folded to\n  the end\n")},
}

# One of these in a list makes strict clients refuse the whole list. The first value is the reason.
NONCONFORMING: Mapping[str, tuple[str, Mapping[str, str | bytes]]] = {
    "bad-description": (
        "description over 1,024 characters",
        {"SKILL.md": document("bad-description", description="x" * 1068)},
    ),
    **{
        f"bad-{name}": (reason, {"SKILL.md": document(f"bad-{name}", fields)})
        for name, reason, fields in (
            ("compatibility-long", "compatibility over 500 characters", f"compatibility: {'x' * 501}\n"),
            ("compatibility-empty", "compatibility empty", 'compatibility: ""\n'),
            ("compatibility-list", "compatibility a list", "compatibility: [linux, macos]\n"),
            ("metadata-text", "metadata not a mapping", "metadata: acme\n"),
            ("metadata-list", "metadata not a mapping", "metadata: [acme]\n"),
            ("metadata-number", "metadata with a number", "metadata:\n  version: 1.0\n"),
            ("metadata-nested", "metadata with a mapping", "metadata:\n  author: {name: acme}\n"),
            ("license-mapping", "license not text", "license: {spdx: MIT}\n"),
            ("license-bool", "license not text", "license: false\n"),
            ("tools-null", "allowed-tools null", "allowed-tools:\n"),
            ("tools-mapping", "allowed-tools a mapping", "allowed-tools: {Read: true}\n"),
        )
    },
    **{
        f"bad-{name}": (reason, {"SKILL.md": document(f"bad-{name}"), path: "Odd name.\n"})
        for name, reason, path in (
            ("file-device", "a file named like a device", "aux"),
            ("file-device-suffix", "a file named like a device", "references/con.md"),
            ("file-colon", "a file with a colon in its name", "references/a:b.md"),
        )
    },
}


BROKEN: Mapping[str, str] = {
    "broken-no-frontmatter": "# No frontmatter\n",
    "broken-no-description": "---\nname: broken-no-description\n---\n",
    "broken-yaml": "---\nname: [broken-yaml\n---\n",
}


def write_fixture(folder: Path) -> dict[str, Any]:
    """Write every skill below the folder; return what a client must find there."""
    conforming = [described(folder, path, files) for path, files in CONFORMING.items()]
    ambiguous = [described(folder, path, files) for path, files in AMBIGUOUS.items()]
    write_broken(folder)
    bad = [
        {**described(folder, path, files), "fault": fault, "portable": not fault.startswith("a file")}
        for path, (fault, files) in NONCONFORMING.items()
    ]
    skill, inside = FOLDER
    root = f"skill://{skill}/{inside}"
    names = {path.split("/")[1] for path in CONFORMING[skill] if path.startswith(f"{inside}/")}
    children = sorted(f"{root}/{encoded(name)}" for name in names)
    return {
        "skills": conforming,
        "ambiguous": ambiguous,
        "nonconforming": bad,
        "folder": {"skill": skill, "path": inside, "uri": root, "children": children},
        "executable": {"skill": "finance/refunds", "path": EXECUTABLE},
    }


def write_broken(folder: Path) -> None:
    """Write skills that cannot be served. They must not hide the others."""
    for name, text in BROKEN.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text(text, "utf-8")


def described(folder: Path, path: str, files: Mapping[str, str | bytes]) -> dict[str, Any]:
    """Write one skill; return its plain name, path, URI and files."""
    found: dict[str, Any] = {}
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        target = folder / path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(0o755 if name == EXECUTABLE else 0o644)
        found[name] = {
            "uri": f"skill://{encoded(f'{path}/{name}')}",
            "sha256": hashlib.sha256(data).hexdigest(),
            "size": len(data),
            "executable": name == EXECUTABLE,
        }
    return {
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "uri": f"skill://{encoded(path)}/SKILL.md",
        "files": found,
        "portable": True,  # every system can store its files, so a published site contains it
    }
