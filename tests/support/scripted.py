"""A server that answers exactly as a test specifies, honestly or not."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from skillwire.protocol.messages import EXTENSION
from skillwire.server.build import (
    Params,
    _complete_handshake,  # pyright: ignore[reportPrivateUsage]
)
from skillwire.sources import Digest

NAMED = "---\nname: {name}\ndescription: Does {name}.\n---\n# Steps\n"


def files_of(name: str, more: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    """Return the files of an honest skill, by their URIs."""
    root = f"skill://{name}"
    others = {f"{root}/{path}": content for path, content in (more or {}).items()}
    return {f"{root}/SKILL.md": NAMED.format(name=name).encode(), **others}


def entry_of(name: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the entry of an honest skill."""
    return {
        "uri": f"skill://{name}/SKILL.md",
        "frontmatter": {"name": name, "description": f"Does {name}."},
        "resources": [
            {"uri": uri, "digest": Digest.of(content).text, "size": len(content)}
            for uri, content in files.items()
        ],
    }


def document_of(name: str, fields: Mapping[str, Any] | None = None, body: str = "# Steps\n") -> bytes:
    """Return a `SKILL.md` with further fields, which are written as JSON: that is YAML, too."""
    more = "".join(f"{key}: {json.dumps(value)}\n" for key, value in (fields or {}).items())
    return f"---\nname: {name}\ndescription: Does {name}.\n{more}---\n{body}".encode()


def block_of(uri: str, content: bytes) -> dict[str, Any]:
    try:
        return {"uri": uri, "mimeType": "text/plain", "text": content.decode()}
    except UnicodeDecodeError:
        return {"uri": uri, "mimeType": "text/plain", "blob": base64.b64encode(content).decode()}


def _raised_or(answer: Any) -> Any:
    if isinstance(answer, MCPError):
        raise answer
    return answer


@dataclass
class ScriptedServer:
    """Honest about `files` unless an answer is scripted. `asked` is everything that it was asked."""

    entries: Sequence[Any] = ()
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    pages: Sequence[dict[str, Any]] | None = None
    """The pages of `skills/list`, each whole; the cursor is the number of the next one."""
    got: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What `skills/get` answers for a URI, instead of the entry."""
    read: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What `resources/read` answers for a URI, instead of the file; or the error that it raises."""
    prompts: Mapping[str, tuple[dict[str, Any], str]] = field(default_factory=dict[str, Any])
    """The `_meta` and the text of each prompt."""
    stated: Mapping[str, Any] | None = None
    """The `_meta` of the result of each prompt."""
    folders: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What `resources/directory/read` answers for a URI, or the error that it raises."""
    resources: Sequence[Any] | Mapping[str, Any] = ()
    """What `resources/list` shows; or its one page, whole."""
    templates: Sequence[Any] | Mapping[str, Any] | Callable[[], dict[str, Any]] | None = None
    """What `resources/templates/list` shows; or one page, whole, or a function that makes the next page.

    Without it, there is no such method.
    """
    completions: Mapping[str, Sequence[Any]] | None = None
    """What `completion/complete` answers for a parameter. Without it, it is not declared."""
    hanging: frozenset[str] = frozenset()
    """Methods that are never answered."""
    experimental: Any = None
    """What is declared in the place of early drafts."""
    declared: Any = field(default_factory=lambda: {"directoryRead": True})
    methods: bool = True
    """Whether it has the methods of the extension. Without them, it refuses them as unknown."""
    asked: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])

    def publish(
        self,
        path: str,
        more: Mapping[str, bytes] | None = None,
        fields: Mapping[str, Any] | None = None,
        body: str = "# Steps\n",
        scheme: str = "skill",
    ) -> str:
        """Serve this skill honestly, in the place of whatever was there; return its URI."""
        root, name = f"{scheme}://{path}", path.rpartition("/")[2]
        files = {f"{root}/SKILL.md": document_of(name, fields, body)}
        files |= {f"{root}/{each}": content for each, content in (more or {}).items()}
        uri = f"{root}/SKILL.md"
        entry: dict[str, Any] = {
            "uri": uri,
            "frontmatter": {"name": name, "description": f"Does {name}.", **(fields or {})},
            "resources": entry_of(name, files)["resources"],
        }
        kept: list[Any] = [each for each in self.entries if each.get("uri") != uri]
        self.entries = [*kept, entry]
        others = {uri: each for uri, each in self.files.items() if not uri.startswith(f"{root}/")}
        self.files = {**others, **files}
        return uri

    def count(self, method: str) -> int:
        """Return how often a method was called."""
        return sum(each == method for each, _ in self.asked)

    def server(self) -> Server[Any]:
        server: Server[Any] = Server("scripted")
        answers: dict[str, Any] = {
            "skills/list": self._list,
            "skills/get": self._get,
            "resources/list": self._resources,
            "resources/read": self._read,
            "resources/directory/read": self._folder,
        }
        if self.prompts:
            answers |= {"prompts/list": self._prompts, "prompts/get": self._prompt}
        if self.templates is not None:
            answers["resources/templates/list"] = self._templates
        if self.completions is not None:
            answers["completion/complete"] = self._complete
        for method, answer in answers.items():
            if method.startswith("skills/") and not self.methods:
                continue
            server.add_request_handler(method, Params, self._handler(method, answer))
        if self.declared is not None:
            server.extensions[EXTENSION] = self.declared
        server.middleware.append(_complete_handshake(server, [], None))
        server.middleware.append(self._declare)
        return server

    async def _declare(self, ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method in {"initialize", "server/discover"} and self.experimental is not None:
            result["capabilities"]["experimental"] = self.experimental
        return result

    def _handler(self, method: str, answer: Any) -> Any:
        async def handle(context: Any, _params: Any) -> dict[str, Any]:
            given: dict[str, Any] = context.params or {}
            params = {key: value for key, value in given.items() if key != "_meta"}
            self.asked.append((method, params))
            if method in self.hanging:
                await anyio.sleep_forever()
            result = answer(params)
            if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                return {"resultType": "complete", "ttlMs": 3_600_000, "cacheScope": "public", **result}
            return result

        return handle

    def _list(self, params: dict[str, Any]) -> dict[str, Any]:
        if self.pages is None:
            return {"skills": list(self.entries)}
        return dict(self.pages[int(params.get("cursor") or 0)])

    def _get(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["uri"] in self.got:
            return {"skill": self.got[params["uri"]]}
        found: list[Any] = [each for each in self.entries if isinstance(each, dict)]
        for entry in found:
            if entry.get("uri") == params["uri"]:
                return {"skill": entry}
        raise MCPError(-32602, "unknown skill")

    def _read(self, params: dict[str, Any]) -> dict[str, Any]:
        uri = params["uri"]
        if uri in self.read:
            return _raised_or(self.read[uri])
        if uri not in self.files:
            raise MCPError(-32602, "unknown file")
        return {"contents": [block_of(uri, self.files[uri])]}

    def _folder(self, params: dict[str, Any]) -> dict[str, Any]:
        return dict(_raised_or(self.folders[params["uri"]]))

    def _templates(self, _params: dict[str, Any]) -> dict[str, Any]:
        if callable(self.templates):
            return self.templates()
        if isinstance(self.templates, Mapping):
            return dict(self.templates)
        return {"resourceTemplates": list(self.templates or ())}

    def _complete(self, params: dict[str, Any]) -> dict[str, Any]:
        values = (self.completions or {})[params["argument"]["name"]]
        return {"completion": {"values": list(values)}}

    def _prompts(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"prompts": [{"name": name, "_meta": meta} for name, (meta, _) in self.prompts.items()]}

    def _prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        text = self.prompts[params["name"]][1]
        meta = {} if self.stated is None else {"_meta": dict(self.stated)}
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}], **meta}

    def _resources(self, _params: dict[str, Any]) -> dict[str, Any]:
        whole = isinstance(self.resources, Mapping)
        return dict(self.resources) if whole else {"resources": list(self.resources)}
