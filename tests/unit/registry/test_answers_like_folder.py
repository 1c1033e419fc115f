"""A registry gives the same answers as the folder whose skills were pushed into it, byte for byte."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from skillwire import ServeOptions
from skillwire.cli.main import run
from tests.support.cached_answers import ServerPair, both, modern
from tests.support.registries import push_now, source
from tests.support.skills import skill_md, write, write_skill


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every kind of skill that has no problem."""
    root = tmp_path_factory.mktemp("tree") / "skills"
    write_skill(root, "acme/billing/refunds", {"references/policy.md": "# Policy\r\n", "assets/empty/": b""})
    write(
        root / "bytes",
        {
            "SKILL.md": b"\xef\xbb\xbf---\r\nname: bytes\r\ndescription: All of it.\r\n---\r\n\r\nBytes\r\n",
            "data/blob.bin": bytes(range(256)),
            "data/empty.txt": b"",
            "data/latin1.txt": "caf\xe9\n".encode("latin-1"),
            "data/large.bin": bytes(range(256)) * 8192,
            "data/twin.bin": bytes(range(256)),
            "with space & 100%.md": "percent\n",
            "\xfcn\xefcode/na\xefve \u4f60\u597d.md": "accents\n",
            "nested/empty/folders/": b"",
        },
    )
    scalars = "flag: true\nnumber: 1.50\nlarge: 9007199254740993\nsmall: -0.0\n"
    front = f"name: verbatim\ndescription: All fields. Use it.\nmetadata:\n  version: '2.1'\n{scalars}"
    write(root / "verbatim", {"SKILL.md": f"---\n{front}nested: {{b: [1, null], a: {{}}}}\n---\nBody\n"})
    outer = write_skill(root, "outer", {"notes.md": "outer\n"})
    write_skill(outer, "inner", {"help.md": "inner\n"})
    write(root / "\xe9t\xe9 & co/summer", {"SKILL.md": skill_md("summer"), "run.sh": "#!/bin/sh\n"})
    (root / "\xe9t\xe9 & co/summer/run.sh").chmod(0o755)
    return root


@pytest.fixture(scope="module")
def registry(tree: Path) -> Path:
    path = tree.parent / "registry.db"
    assert push_now(tree, path).revision == 1
    return path


@pytest.fixture(scope="module")
def pairs(tree: Path, registry: Path) -> Iterator[tuple[ServerPair, ServerPair]]:
    options = ServeOptions()
    with ExitStack() as stack:
        folder = stack.enter_context(both(tree, options))
        pushed = stack.enter_context(both(source(registry), options))
        yield folder, pushed


def ask(server: ServerPair, method: str, **params: object) -> Any:
    """Return the answer of a server, which is the same with its cache, but for the order of the keys."""
    line = json.dumps(modern(method, **params)).encode()
    first, again = server.with_cache.ask(line), server.with_cache.ask(line)
    answer = server.without.ask(line)
    assert first == again == answer
    return answer


def requests(folder: ServerPair) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield every request that the answers of a server offer."""
    lists = ("skills/list", "resources/list", "resources/templates/list", "tools/list", "prompts/list")
    for method in ("server/discover", *lists):
        yield method, {}
    catalog = folder.library.catalog
    for uri in catalog.entries:
        yield "skills/get", {"uri": uri}
    listed = {each["uri"] for each in ask(folder, "resources/list")["result"]["resources"]}
    for uri in sorted({*listed, *catalog.files}):
        yield "resources/read", {"uri": uri}
    for uri in catalog.children_by_folder:
        yield "resources/directory/read", {"uri": uri}
    for prompt in ask(folder, "prompts/list")["result"]["prompts"]:
        yield "prompts/get", {"name": prompt["name"], "arguments": {}}
    for entry in catalog.entries.values():
        for tool in ask(folder, "tools/list")["result"]["tools"]:
            yield "tools/call", {"name": tool["name"], "arguments": {"name": entry.name}}
            yield "tools/call", {"name": tool["name"], "arguments": {"query": entry.name}}


def test_every_answer_is_that_of_the_folder(pairs: tuple[ServerPair, ServerPair]) -> None:
    folder, pushed = pairs
    asked = list(requests(folder))
    assert len(asked) > 70
    for method, params in asked:
        assert json.dumps(ask(pushed, method, **params)) == json.dumps(ask(folder, method, **params))


def test_archives_and_site_files_are_those_of_the_folder(tree: Path, registry: Path, tmp_path: Path) -> None:
    places = {"folder": str(tree), "registry": f"registry+sqlite://{registry}"}
    for name, place in places.items():
        assert run(["publish", place, "--no-config", "--out", str(tmp_path / name)]) == 0
    one, two = (_files(tmp_path / name) for name in places)
    assert len(one) > 20
    assert one == two


def _files(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_catalog_has_no_problem_and_the_same_order(pairs: tuple[ServerPair, ServerPair]) -> None:
    folder, pushed = (each.library.catalog for each in pairs)
    assert folder.problems == pushed.problems == ()
    assert list(folder.entries) == list(pushed.entries)
    for uri, entry in folder.entries.items():
        assert pushed.entries[uri].files == entry.files
        assert pushed.entries[uri].directories == entry.directories
