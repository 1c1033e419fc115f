"""The pages that come with the package, built from `ui`."""

from functools import cache
from importlib.resources import files


@cache
def built_page(name: str) -> str:
    """Return a page as one HTML document."""
    return files("skillwire.surfaces").joinpath("pages", name).read_text(encoding="utf-8")
