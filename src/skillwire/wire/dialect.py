"""The dialects that servers of skills speak: the extension as it became final, and what was there before."""

from enum import StrEnum


class Dialect(StrEnum):
    """In which words a server told of a skill."""

    FINAL = "final"
    """`skills/list` and `skills/get`, every file with digest and size."""
    DRAFT_C = "draft-c"
    """The same in August 2026: no sizes, and no `resources` where content is made when it is read."""
    DRAFT_B = "draft-b"
    """June 2026: the resource `skill://index.json`, with the frontmatter of each skill."""
    DRAFT_A = "draft-a"
    """April 2026: the same resource, with a name and a description of each skill."""
    MANIFEST = "manifest"
    """FastMCP before the extension: a resource `_manifest` in each skill's folder."""
    SCAN = "scan"
    """No index at all: `resources/list` names documents `…/SKILL.md`."""
    OLD_URIS = "old-uris"
    """Skilljack before the extension: `skill://name` is the document, `skill://name/` all other files."""

    @property
    def has_methods(self) -> bool:
        """Whether it has `skills/list` and `skills/get`."""
        return self in {Dialect.FINAL, Dialect.DRAFT_C}

    @property
    def tells_frontmatter(self) -> bool:
        """Whether it tells every field of the frontmatter, and not only a name and a description."""
        return self in {Dialect.FINAL, Dialect.DRAFT_C, Dialect.DRAFT_B}


class Integrity(StrEnum):
    """How much of a skill is bound to digests."""

    FULL = "full"
    """Every file."""
    PART = "part"
    """Its `SKILL.md` or its archive, and no file beside that."""
    NONE = "none"
