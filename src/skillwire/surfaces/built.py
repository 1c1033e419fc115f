"""The pages that come with the package, built from `ui`."""

from functools import cache


@cache
def built_page(name: str) -> str:
    """Return a page as one HTML document."""
    from importlib.resources import files  # noqa: PLC0415 - most servers are never asked for a page

    return files("skillwire.surfaces").joinpath("pages", name).read_text(encoding="utf-8")
