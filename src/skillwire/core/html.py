"""Helpers for HTML documents: hashes of their inline parts for a content security policy."""

import base64
import hashlib
import re


def inline_hashes(html: str, tag: str) -> str:
    """Return the sources that allow the inline elements `tag` of a document: hashes, or `'none'`."""
    found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", html, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in found)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
