"""The built HTML documents of the pages, and their content security policy."""

from functools import cache

from skillwire.core.html import inline_hashes


@cache
def built_page(name: str) -> str:
    """Return the built HTML document with this file name."""
    from importlib.resources import files  # noqa: PLC0415 - most servers never serve a page

    return files("skillwire.pages").joinpath("assets", name).read_text(encoding="utf-8")


def content_policy(html: str) -> str:
    """Return a content security policy for a page.

    It allows only the page's inline scripts and styles, `data:` images, and connections to its own origin.
    """
    scripts, styles = (inline_hashes(html, tag) for tag in ("script", "style"))
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {scripts}",
            f"style-src {styles}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types dompurify",
        )
    )
