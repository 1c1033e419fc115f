"""Open the ranker that the operator has chosen."""

import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from skillwire.config.search_settings import SearchSettings
from skillwire.config.settings import token_from
from skillwire.errors import UsageError
from skillwire.library.library import Library
from skillwire.sources.web.address import WebAddress

if TYPE_CHECKING:
    from skillwire.search.ranker import Ranker

_NEEDED = ("numpy", "safetensors", "tokenizers", "wordllama")
"""The packages of the extra `semantic` that are used."""


def ranker_opener(settings: SearchSettings, folder: Path | None) -> "Callable[[Library], Ranker] | None":
    """Return a function that opens the chosen ranker; None if skills are found by words only.

    Checks the settings now and loads the packages later. Raises `UsageError` or `SourceError`.
    """
    if not settings.is_semantic:
        return None
    missing = [each for each in _NEEDED if find_spec(each) is None]
    if missing:
        raise UsageError(
            f"search by meaning needs the package `{missing[0]}`, which is not installed",
            hint="install Skillwire with the extra `semantic`: in the clone, `pip install '.[semantic]'`",
        )
    token = token_from(settings.token_env, os.environ)
    if settings.endpoint:
        WebAddress.parse(settings.endpoint)
    return partial(_open, settings, token, folder)


def _open(settings: SearchSettings, token: str | None, folder: Path | None, library: Library) -> "Ranker":
    from skillwire.search.semantic.ranker import SemanticRanker  # noqa: PLC0415 - needs the extra

    if settings.is_local:
        from skillwire.search.semantic.local_model import LocalModel  # noqa: PLC0415

        return SemanticRanker(library, LocalModel(), folder)
    from skillwire.search.semantic.endpoint import Endpoint  # noqa: PLC0415

    return SemanticRanker(library, Endpoint(settings.endpoint, settings.model, token), folder)
