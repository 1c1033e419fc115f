"""The table `[search]` of the configuration file: whether and how skills are also found by meaning."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from skillwire.config.file import ConfigFile
from skillwire.config.file_keys import SEARCH_KEYS

LOCAL = "local"
"""The value of `semantic` that stands for the model that comes with the extra `semantic`."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How skills are found by meaning. Without `is_local` and `endpoint`, they are found by words only."""

    is_local: bool = False
    endpoint: str = ""
    """The base address of an OpenAI-compatible server, such as `http://127.0.0.1:11434/v1`."""
    model: str = ""
    """The name of the endpoint's model."""
    token_env: str | None = None
    """The environment variable with the endpoint's token."""

    @property
    def is_semantic(self) -> bool:
        return self.is_local or bool(self.endpoint)

    def with_local_model(self) -> "SearchSettings":
        """Return these settings with the local model instead of an endpoint."""
        return replace(self, is_local=True, endpoint="", model="", token_env=None)

    @classmethod
    def read(cls, file: ConfigFile | None) -> "SearchSettings":
        """Return the settings in a configuration file, if there is one. Raises `UsageError`."""
        if file is None or (table := file.read().get("search")) is None:
            return cls()
        if not isinstance(table, Mapping):
            raise file.broken("`search` is not a table")
        values = cast("Mapping[str, object]", table)
        texts = dict[str, str]()
        for key in SEARCH_KEYS:
            value = values.get(key, "")
            if not isinstance(value, str) or (key in values and not value.strip()):
                raise file.broken(f"`{key}` in `[search]` is not a string")
            texts[key] = value
        semantic, endpoint, model, token_env = (texts[key] for key in SEARCH_KEYS)
        if semantic not in {"", LOCAL}:
            raise file.broken('`semantic` in `[search]` can only be "local"; for a server, set `endpoint`')
        if semantic and endpoint:
            raise file.broken("`[search]` has both `semantic` and `endpoint`; keep one of them")
        if endpoint and not model:
            raise file.broken("`[search]` has an `endpoint` but no `model`")
        if not endpoint and (model or token_env):
            raise file.broken("`model` and `token-env` in `[search]` need an `endpoint`")
        return cls(bool(semantic), endpoint, model, token_env or None)
