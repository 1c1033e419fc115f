"""How deep JSON may be nested: what can be read here must also be written here, and that takes less."""

from typing import TypeAlias, cast

from skillwire.model.entry import Json

MAX_DEPTH = 100
TOO_DEEP = f"nested more than {MAX_DEPTH} deep"


_Container: TypeAlias = dict[str, Json] | list[Json]


def too_deep(value: object, limit: int = MAX_DEPTH) -> bool:
    """Whether objects and lists stand inside each other more than `limit` times."""
    level = [cast("_Container", value)] if isinstance(value, (dict, list)) else []
    for _ in range(limit):
        if not level:
            return False
        level = [inner for each in level for inner in _values(each) if isinstance(inner, (dict, list))]
    return bool(level)


def _values(container: _Container) -> list[Json]:
    return container if isinstance(container, list) else list(container.values())
