"""Every lie that a server can tell of one skill, and the finding that `verify` has for it."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.blackbox.scripted import Script, block, document, listed

A, B = b"# A\n", b"# B\n"
Entry = dict[str, Any]


@dataclass(frozen=True)
class Lie:
    """A skill called `name`, of which one thing is not as it should be."""

    tell: Callable[[Script, str], object]
    faults: tuple[str, ...]
    """The findings, one of which it is."""


def in_entry(spoil: Callable[[Entry], object], *faults: str) -> Lie:
    """A lie in the entry itself: nothing of the skill is ever read."""
    return Lie(lambda script, name: spoil(script.publish(name, {"a.md": A})), faults)


def in_read(answer: Callable[[str], Any], *faults: str) -> Lie:
    """A lie in what is read of `a.md`."""

    def tell(script: Script, name: str) -> None:
        script.publish(name, {"a.md": A})
        script.reads[f"skill://{name}/a.md"] = answer(f"skill://{name}/a.md")

    return Lie(tell, faults)


def in_document(content: Callable[[str], bytes], fields: Mapping[str, Any]) -> Lie:
    """A lie in a `SKILL.md` that has its digest and size: its entry does not say what it says."""

    def tell(script: Script, name: str) -> None:
        entry = script.publish(name)
        script.tamper(entry["uri"], content(name))
        entry["resources"] = [listed(entry["uri"], content(name))]
        entry["frontmatter"] |= fields

    return Lie(tell, ("frontmatter",))


def _adding(uri: str, **values: Any) -> Callable[[Entry], object]:
    """Add a file to the entry; `@` in its URI is the skill's root."""

    def spoil(entry: Entry) -> None:
        root = entry["uri"].removesuffix("/SKILL.md")
        entry["resources"].append({**listed(uri.replace("@", root), A), **values})

    return spoil


def _changing(**values: Any) -> Callable[[Entry], object]:
    """Change what the entry says of `a.md`."""
    return lambda entry: entry["resources"][1].update(values)


def _setting(**values: Any) -> Callable[[Entry], object]:
    return lambda entry: entry.update(values)


def _frontmatter(**values: Any) -> Callable[[Entry], object]:
    return lambda entry: entry["frontmatter"].update(values)


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


ENTRY_LIES: dict[str, Lie] = {
    "no-resources": in_entry(lambda entry: entry.pop("resources"), "entry-resources"),
    "null-resources": in_entry(_setting(resources=None), "entry-resources"),
    "object-resources": in_entry(_setting(resources={}), "entry-resources"),
    "other-word": in_entry(_setting(resources="static"), "entry-resources"),
    "no-files": in_entry(_setting(resources=[]), "entry-resources"),
    "without-itself": in_entry(lambda entry: entry["resources"].pop(0), "entry-resources"),
    "file-twice": in_entry(_adding("@/a.md"), "entry-resources"),
    "file-twice-encoded": in_entry(_adding("@/%61.md"), "entry-resources"),
    "file-twice-by-case": in_entry(_adding("@/A.MD"), "entry-resources"),
    "file-of-others": in_entry(_adding("skill://elsewhere/a.md"), "entry-resources"),
    "file-above": in_entry(_adding("@/../b.md"), "entry-resources"),
    "file-above-encoded": in_entry(_adding("@/%2e%2e/b.md"), "entry-resources"),
    "file-with-slash": in_entry(_adding("@/..%2fb.md"), "entry-resources"),
    "file-of-machine": in_entry(_adding("file:///etc/passwd"), "entry-resources"),
    "file-of-web": in_entry(_adding("http://127.0.0.1:1/b.md"), "entry-resources"),
    "digest-upper": in_entry(_changing(digest="sha256:" + "A" * 64), "entry-resources"),
    "digest-short": in_entry(_changing(digest="sha256:" + "a" * 63), "entry-resources"),
    "digest-bare": in_entry(_changing(digest="a" * 64), "entry-resources"),
    "digest-other": in_entry(_changing(digest="sha512:" + "a" * 128), "entry-resources"),
    "digest-missing": in_entry(_changing(digest=None), "entry-resources"),
    "size-negative": in_entry(_changing(size=-1), "entry-resources"),
    "size-fraction": in_entry(_changing(size=4.5), "entry-resources"),
    "size-text": in_entry(_changing(size="4"), "entry-resources"),
    "size-truth": in_entry(_changing(size=True), "entry-resources"),
    "name-upper": in_entry(_frontmatter(name="Name-Upper"), "entry-name"),
    "name-other": in_entry(_frontmatter(name="honest"), "entry-name"),
    "name-number": in_entry(_frontmatter(name=5), "entry-name"),
    "description-list": in_entry(_frontmatter(description=["x"]), "entry-description"),
    "frontmatter-text": in_entry(_setting(frontmatter="x"), "entry-shape"),
    "too-many-bytes": in_entry(_changing(size=16_777_217), "entry-limits"),
    "too-many-files": in_entry(
        lambda entry: entry["resources"].extend(
            listed(entry["uri"].replace("SKILL.md", f"{number}"), b"") for number in range(511)
        ),
        "entry-limits",
    ),
}
"""Entries that are declined as they are."""

READ_LIES: dict[str, Lie] = {
    "other-bytes": in_read(lambda uri: {"contents": [block(uri, B)]}, "digest"),
    "fewer-bytes": in_read(lambda uri: {"contents": [block(uri, A[:-1])]}, "size"),
    "more-bytes": in_read(lambda uri: {"contents": [block(uri, A + b"x")]}, "size"),
    "two-blocks": in_read(lambda uri: {"contents": [block(uri, A)] * 2}, "read-shape"),
    "no-block": in_read(lambda uri: {"contents": []}, "read-shape"),
    "other-uri": in_read(lambda uri: {"contents": [block(f"{uri}x", A)]}, "read-shape"),
    "no-content": in_read(lambda uri: {"contents": [{"uri": uri}]}, "read-shape"),
    "no-base64": in_read(lambda uri: {"contents": [{"uri": uri, "blob": "!"}]}, "read-shape"),
    "refused": in_read(lambda uri: {"error": {"code": -32602, "message": "no"}}, "read-failed"),
    "far-too-long": in_read(
        lambda uri: {"contents": [{"uri": uri, "blob": base64.b64encode(bytes(600_000)).decode()}]},
        "read-budget",
        "size",  # over stdio, where a line may be anything
    ),
}
"""Files that are not what the entry says."""

DOCUMENT_LIES: dict[str, Lie] = {
    "other-description": in_document(document, {"description": "Harmless."}),
    "field-added": in_document(document, {"license": "MIT"}),
    "field-hidden": in_document(lambda name: document(name, {"allowed-tools": "Bash"}), {}),
    "field-other-type": in_document(lambda name: document(name, {"version": 1}), {"version": "1"}),
    "truth-for-number": in_document(lambda name: document(name, {"on": True}), {"on": 1}),
    "old-yaml": in_document(
        lambda name: document(name, {"flag": 0}).replace(b"flag: 0", b"flag: yes"), {"flag": True}
    ),
    "yaml-alias": in_document(
        lambda name: document(name, {"a": 0}).replace(b"a: 0", b"a: &x 1\nb: *x"), {"a": 1, "b": 1}
    ),
    "yaml-key-twice": in_document(
        lambda name: document(name, {"a": 0}).replace(b"a: 0", b"a: 1\na: 2"), {"a": 2}
    ),
    "yaml-number-key": in_document(
        lambda name: document(name, {"a": 0}).replace(b"a: 0", b"1: x"), {"1": "x"}
    ),
    "yaml-deep": in_document(lambda name: document(name, {"a": _nested(80)}), {"a": _nested(80)}),
    "yaml-surrogate": in_document(
        lambda name: document(name, {"a": 0}).replace(b"a: 0", b'a: "\\ud83d"'), {"a": "x"}
    ),
    "yaml-bomb": in_document(lambda name: document(name, {"a": 0}).replace(b"0", b"[" * 5_000), {}),
    "no-frontmatter": in_document(lambda _: b"# Steps\n", {}),
}
"""Documents whose frontmatter is not that of the entry."""


LIES = ENTRY_LIES | READ_LIES | DOCUMENT_LIES
"""All lies, by the name of the skill that they are about."""
EACH_BAD_ENTRY: tuple[Any, ...] = (5, None, "text", [], {}, {"uri": 5}, {"uri": "no scheme/SKILL.md"})
"""Entries that are none."""


def liar(version: str, **settings: Any) -> Script:
    """Return a script with every lie, and honest skills before, between and behind them."""
    script = Script(version=version, **settings)
    script.publish("honest", {"a.md": A, "b.bin": b"\xff\0"})
    for name, lie in LIES.items():
        lie.tell(script, name)
    script.entries.extend(EACH_BAD_ENTRY)
    script.publish("live")["resources"] = "dynamic"
    script.publish("acme/deep/honest-too", {"references/a.md": A}, {"license": "MIT", "x": [1, None]})
    return script
