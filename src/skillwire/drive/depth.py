"""How deep JSON may be nested: what can be read here must also be written here, and that takes less."""

from typing import cast

from skillwire.model.entry import Json

MAX_DEPTH = 100
TOO_DEEP = f"nested more than {MAX_DEPTH} deep"


def too_deep(value: object, limit: int = MAX_DEPTH) -> bool:
    """Whether objects and lists stand inside each other more than `limit` times."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(limit):
        if not level:
            return False
        level = [
            child
            for each in level
            for child in _children(cast("dict[str, Json] | list[Json]", each))
            if isinstance(child, (dict, list))
        ]
    return bool(level)


def _children(value: dict[str, Json] | list[Json]) -> list[Json]:
    return value if isinstance(value, list) else list(value.values())
