"""In what two versions of a skill differ, as far as their entries tell: no file is read for it (H11, H17)."""

from dataclasses import dataclass

from skillwire.host.paths import shown_path
from skillwire.host.state.manifest import content_of
from skillwire.model.display import quoted
from skillwire.model.plain import plain
from skillwire.wire.remote import RemoteSkill
from skillwire.wire.verify import same

_SHOWN = 20
"""Differences that a sentence names."""
_SHOWN_FIELD = 64


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different now, by the paths of files and the names of fields."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rotated: tuple[str, ...] = ()
    """Files that have other bytes."""
    fields: tuple[str, ...] = ()
    """Fields of the frontmatter."""
    delivery: bool = False
    """Whether an early draft delivers it with other digests, or from another place."""
    integrity: bool = False
    """Whether it has digests now and had none, or the other way round."""

    def __bool__(self) -> bool:
        return bool(
            self.added or self.removed or self.rotated or self.fields or self.delivery or self.integrity
        )

    def __str__(self) -> str:
        parts = [
            *(f"{quoted(path)} is new" for path in self.added),
            *(f"{quoted(path)} is gone" for path in self.removed),
            *(f"{quoted(path)} has other bytes" for path in self.rotated),
            *(f"the field {quoted(field)} says something else" for field in self.fields),
            *(["it is delivered with other digests, or from elsewhere"] if self.delivery else []),
            *(["it has digests and had none, or the other way round"] if self.integrity else []),
        ]
        more = len(parts) - _SHOWN
        return ", ".join(parts[:_SHOWN]) + (f" and {more} more" if more > 0 else "") or "nothing"

    @classmethod
    def between(cls, before: RemoteSkill, after: RemoteSkill) -> "Changes":
        old = {file.uri: file.digest for file in before.files or ()}
        new = {file.uri: file.digest for file in after.files or ()}
        keys = sorted(before.frontmatter.keys() | after.frontmatter.keys())
        return cls(
            added=tuple(shown_path(after, uri) for uri in new if uri not in old),
            removed=tuple(shown_path(before, uri) for uri in old if uri not in new),
            rotated=tuple(shown_path(after, uri) for uri in new if uri in old and old[uri] != new[uri]),
            fields=tuple(_shown(key) for key in keys if not _same_field(before, after, key)),
            delivery=before.deliveries != after.deliveries,
            integrity=(before.files is None) != (after.files is None),
        )


def is_another(before: RemoteSkill, after: RemoteSkill) -> bool:
    """Whether a yes to the one is none to the other (H15, H17).

    Where not all files have digests, the entry itself is all that a person can have seen.
    """
    if (content := content_of(before)) is not None:
        return content != content_of(after)
    return bool(Changes.between(before, after))


def _same_field(before: RemoteSkill, after: RemoteSkill, key: str) -> bool:
    there = key in before.frontmatter and key in after.frontmatter
    return there and same(before.frontmatter[key], after.frontmatter[key])


def _shown(key: str) -> str:
    return plain(key, _SHOWN_FIELD)
