"""The Pydantic models that the repository contract started as, to compare with."""

import re
from pathlib import PurePosixPath
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

_ID = re.compile(r"^[a-z][a-z0-9-]*$")
_SEMVER = re.compile(r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:[-+][0-9A-Za-z.-]+)?$")


def _require(condition: object, message: str) -> None:
    if not condition:
        raise ValueError(message)


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)


class ReferenceEntry(_Model):
    path: str
    mime_type: str = "text/markdown"
    title: str | None = None

    @field_validator("path")
    @classmethod
    def validate_reference_path(cls, value: str) -> str:
        path = PurePosixPath(value)
        _require(not path.is_absolute() and ".." not in path.parts, "reference path must be relative")
        _require(str(path).startswith("references/"), "reference path must stay under references/")
        _require(path.suffix.lower() == ".md", "reference path must target a markdown file")
        return str(path)


class Metadata(_Model):
    id: str
    version: str
    tags: list[str] = Field(default_factory=list)
    capabilities: list[str] = Field(min_length=1)
    depends_on: list[str] = Field(default_factory=list)
    references: dict[str, ReferenceEntry] = Field(default_factory=dict)

    @field_validator("id")
    @classmethod
    def validate_id(cls, value: str) -> str:
        _require(_ID.fullmatch(value), "id must be lowercase kebab-case and start with a letter")
        return value

    @field_validator("version")
    @classmethod
    def validate_version(cls, value: str) -> str:
        _require(_SEMVER.fullmatch(value), "version must be semver")
        return value

    @field_validator("depends_on")
    @classmethod
    def validate_depends_on(cls, value: list[str]) -> list[str]:
        _require(all(map(_ID.fullmatch, value)), "invalid depends_on skill id")
        return value

    @field_validator("references")
    @classmethod
    def validate_reference_ids(cls, value: dict[str, ReferenceEntry]) -> dict[str, ReferenceEntry]:
        _require(all(map(_ID.fullmatch, value)), "invalid reference id")
        return value

    @model_validator(mode="after")
    def ensure_primary_capability(self) -> Self:
        _require(f"resource://skills/{self.id}/document" in self.capabilities, "capabilities")
        return self


class Frontmatter(_Model):
    name: str = Field(min_length=1, max_length=64)
    description: str = Field(min_length=1, max_length=1024)
    when_to_use: str | None = None
    allowed_tools: str | list[str] | None = Field(default=None, alias="allowed-tools")
    disallowed_tools: str | list[str] | None = Field(default=None, alias="disallowed-tools")
    disable_model_invocation: bool | None = Field(default=None, alias="disable-model-invocation")
    user_invocable: bool | None = Field(default=None, alias="user-invocable")
    argument_hint: str | None = Field(default=None, alias="argument-hint")
    arguments: str | list[str] | None = None
    license: str | None = None
    compatibility: str | None = None
    metadata: dict[str, str] | None = None
    x_personal_mcp: Metadata = Field(alias="x-personal-mcp")

    @field_validator("name")
    @classmethod
    def validate_name(cls, value: str) -> str:
        _require(_ID.fullmatch(value), "name must be lowercase kebab-case and start with a letter")
        _require("anthropic" not in value and "claude" not in value, "name has a reserved word")
        return value

    @model_validator(mode="after")
    def cross_validate(self) -> Self:
        _require(self.x_personal_mcp.id == self.name, "x-personal-mcp.id must exactly match name")
        return self


def original_frontmatter(raw: dict[str, Any], folder: str) -> Frontmatter | None:
    """Return what the models make of a frontmatter, or None if they reject it."""
    try:
        model = Frontmatter.model_validate(raw)
    except ValueError:
        return None
    return model if model.name == folder else None
