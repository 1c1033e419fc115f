"""The paths of a program as a tree: what leads on to what."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from skillwire.drive.paths import SKILL_LEAVES
from skillwire.model.display import one_line


@dataclass(frozen=True, slots=True)
class ListedPath:
    """A path as the tool `listPaths` shows it."""

    client_id: str
    client_name: str
    type: str
    path: str
    method: str
    description: str

    @classmethod
    def read(cls, listed: Mapping[str, object]) -> "ListedPath":
        """Take what a server sent; what is missing is empty."""
        names = ("clientId", "clientName", "type", "path", "method", "description")
        return cls(*(str(listed.get(name) or "") for name in names))


@dataclass(slots=True)
class _Node:
    """A segment, what is said of it, and what stands below."""

    label: str
    description: str = ""
    children: dict[str, "_Node"] = field(default_factory=dict[str, "_Node"])

    def child(self, label: str) -> "_Node":
        return self.children.setdefault(label, _Node(label))


def tree_lines(paths: Sequence[ListedPath]) -> Iterator[str]:
    """Yield a tree for each client: folders by name, a skill's description beside the folder it names."""
    clients: dict[str, list[ListedPath]] = {}
    for each in paths:
        clients.setdefault(each.client_id, []).append(each)
    for client_id, own in clients.items():
        root = _Node(client_id, own[0].client_name)
        for each in own:
            _add(root, each)
        yield from _lines(root)


def _add(root: _Node, listed: ListedPath) -> None:
    *folder, last = listed.path.strip("/").split("/")
    node = root
    for segment in folder:
        node = node.child(segment)
    if last in SKILL_LEAVES:
        if node is root:  # the line of the client has its name on it
            node = node.child(last)
        node.description = listed.description
        return
    label = f"{last} ({listed.method})" if listed.method else last
    node.child(label).description = listed.description


def _lines(root: _Node) -> Iterator[str]:
    rows = [("", root), *_below(root, "")]
    width = max(len(indent) + len(node.label) for indent, node in rows)
    for indent, node in rows:
        shown = f"{indent}{one_line(node.label)}"
        yield f"{shown:<{width}}  {one_line(node.description)}".rstrip()


def _below(node: _Node, indent: str) -> Iterator[tuple[str, _Node]]:
    children = list(node.children.values())
    for child in children:
        last = child is children[-1]
        yield f"{indent}{'└── ' if last else '├── '}", child
        yield from _below(child, f"{indent}{'    ' if last else '│   '}")
