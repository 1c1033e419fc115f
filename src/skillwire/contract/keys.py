"""Keys that are not text. No file has them, because its reader refuses them, but a program can pass them."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from skillwire.model.display import quoted
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.skillmd.places import Way, spelled


def key_problems(raw: Mapping[Any, Any], path: str) -> Iterator[Problem]:
    """Yield a problem for each key that is not text, as deep as it may stand."""
    for way, key in _wrong_keys(raw, ()):
        message = f"{quoted(str(key))} is used as a key, and it is not text"
        hint = f"write it as text: {quoted(repr(str(key)))}"
        yield Problem(
            path, Rule.YAML_KEY, Severity.ERROR, message, hint=hint, field=spelled((*way, str(key)))
        )


def with_text_keys(raw: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a copy in which every key is text, so that the other rules can be asked, too."""
    return {str(key): _copied(value) for key, value in raw.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return with_text_keys(cast("dict[Any, Any]", value))
    return list(map(_copied, cast("list[Any]", value))) if isinstance(value, list) else value


def _wrong_keys(value: Any, way: Way) -> Iterator[tuple[Way, Any]]:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[Any, Any]", value).items():
            if not isinstance(key, str):
                yield way, key
            yield from _wrong_keys(item, (*way, str(key)))
    elif isinstance(value, list):
        for at, item in enumerate(cast("list[Any]", value)):
            yield from _wrong_keys(item, (*way, at))
