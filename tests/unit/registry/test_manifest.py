"""A manifest comes back from its stored form exactly as it was, and damage to it is found."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.core.record import Digest, SkillFile
from skillwire.errors import StateError
from skillwire.registry.manifest import Manifest

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)
FILES = st.builds(
    SkillFile,
    TEXT,
    st.sampled_from(["text/markdown", "application/octet-stream"]),
    st.binary(min_size=32, max_size=32).map(Digest.from_raw),
    st.integers(0, 2**40),
    st.booleans(),
)
MANIFESTS = st.builds(
    Manifest,
    st.dictionaries(TEXT, VALUES, max_size=5),
    st.lists(FILES, max_size=4).map(tuple),
    st.lists(TEXT, max_size=3).map(tuple),
    st.none() | TEXT,
    st.booleans(),
)


@given(MANIFESTS)
def test_stored_manifest_comes_back_exactly(manifest: Manifest) -> None:
    stored = manifest.to_bytes()
    found = Manifest.from_bytes(stored, manifest.digest.raw)
    assert repr(found) == repr(manifest)  # also the order of keys, and the types of numbers
    assert found.to_bytes() == stored


@given(MANIFESTS, MANIFESTS)
def test_manifest_of_other_content_is_damaged(one: Manifest, other: Manifest) -> None:
    if one.digest != other.digest:
        with pytest.raises(StateError, match="damaged"):
            Manifest.from_bytes(one.to_bytes(), other.digest.raw)


@given(VALUES, st.binary(max_size=50))
def test_anything_else_is_damaged(value: Any, content: bytes) -> None:
    for stored in (content, repr(value).encode()):
        with pytest.raises(StateError, match="damaged"):
            Manifest.from_bytes(stored, bytes(32))


@given(st.permutations(range(4)), MANIFESTS)
def test_digest_does_not_depend_on_the_order_of_files(order: list[int], manifest: Manifest) -> None:
    files = [manifest.files[at] for at in order if at < len(manifest.files)]
    assert Manifest(manifest.frontmatter, tuple(files), manifest.directories).digest == manifest.digest
