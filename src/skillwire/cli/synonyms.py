"""Words that people use for commands, actions and options, and what Skillwire calls them."""

from typing import TypeAlias

Suggestions: TypeAlias = tuple[str, ...]

COMMAND_SYNONYMS: dict[str, Suggestions] = {
    **dict.fromkeys(("run", "start", "up", "server", "host", "mcp", "stdio", "http"), ("serve",)),
    **dict.fromkeys(("proxy", "gateway", "aggregate", "mount", "combine"), ("bridge",)),
    "add": ("sources add", "install"),
    **dict.fromkeys(("remove", "rm", "delete", "del"), ("sources remove", "uninstall")),
    **dict.fromkeys(("update", "upgrade", "sync", "refresh", "fetch", "reload"), ("sources update",)),
    **dict.fromkeys(("source", "repo", "repos"), ("sources",)),
    **dict.fromkeys(("ls", "dir", "ll", "all", "skills"), ("list",)),
    **dict.fromkeys(("find", "grep", "query", "filter"), ("search", "list --filter", "list")),
    **dict.fromkeys(("cat", "print", "type", "less"), ("read",)),
    **dict.fromkeys(("get", "view", "open"), ("show", "read")),
    **dict.fromkeys(("info", "describe", "inspect", "details", "about", "stat"), ("show",)),
    **dict.fromkeys(("setup", "configure", "config", "connect", "register"), ("install", "sources add")),
    **dict.fromkeys(("client", "clients"), ("install", "servers")),
    **dict.fromkeys(("unregister", "disconnect"), ("uninstall", "servers --forget")),
    **dict.fromkeys(("status", "probe", "ping"), ("doctor", "servers")),
    **dict.fromkeys(("signin", "sign-in", "auth", "authenticate", "oauth"), ("login",)),
    **dict.fromkeys(("signout", "sign-out"), ("logout",)),
    **dict.fromkeys(("trust", "accept", "allow", "grant", "permit"), ("approve",)),
    **dict.fromkeys(("untrust", "deny", "reject", "unapprove", "block"), ("revoke",)),
    "forget": ("servers --forget", "revoke"),
    **dict.fromkeys(("compare", "changes", "changed"), ("diff",)),
    **dict.fromkeys(("download", "export", "copy", "cp", "clone", "save"), ("pull",)),
    **dict.fromkeys(("audit", "integrity"), ("verify",)),
    **dict.fromkeys(("lint", "validate", "test", "analyze", "linter", "problems"), ("check",)),
    **dict.fromkeys(("fix", "format", "fmt", "repair"), ("check --fix",)),
    "adopt": ("check --fix --adopt",),
    **dict.fromkeys(("init", "create", "make", "scaffold", "generate", "template"), ("new",)),
    **dict.fromkeys(("deps", "dependencies", "tree"), ("graph",)),
    **dict.fromkeys(("site", "website", "build", "deploy", "release", "upload"), ("publish", "push")),
    **dict.fromkeys(("package", "bundle", "zip", "mcpb", "plugin"), ("pack", "publish")),
    **dict.fromkeys(("hide", "unhide", "enable", "disable", "toggle"), ("visibility",)),
    **dict.fromkeys(("clean", "clear", "purge", "prune"), ("cache remove",)),
    **dict.fromkeys(("autocomplete", "completions", "complete"), ("completion",)),
    **dict.fromkeys(("version", "--v", "-v"), ("--version",)),
    **dict.fromkeys(("man", "usage", "commands", "?", "docs"), ("help",)),
}
"""The command lines to suggest for an unknown command. Those that do not exist are not suggested."""

ACTION_SYNONYMS: dict[str, Suggestions] = {
    **dict.fromkeys(("ls", "show", "get", "print", "all", "tree", "status"), ("list",)),
    **dict.fromkeys(("new", "create", "install", "append", "set", "register"), ("add",)),
    **dict.fromkeys(("rm", "delete", "del", "purge", "clear", "clean", "prune", "uninstall"), ("remove",)),
    **dict.fromkeys(("sync", "fetch", "refresh", "pull", "upgrade", "reload"), ("update",)),
}
"""The actions to suggest for an unknown action of a command such as `sources`."""

OPTION_SYNONYMS: dict[str, Suggestions] = {
    **dict.fromkeys(("--port", "--host", "--listen", "--address", "--bind", "--addr", "-p"), ("--http",)),
    **dict.fromkeys(("--output", "--output-dir", "--dest", "--destination", "--to", "-o"), ("--out", "DEST")),
    **dict.fromkeys(
        ("--source", "--sources", "--skills", "--skills-dir", "--path", "--dir", "--folder", "-s", "-d"),
        ("--from", "SOURCE", "PATH"),
    ),
    "--from": ("SOURCE", "SERVER", "PATH", "SKILL"),
    **dict.fromkeys(("--server", "--url", "--servers"), ("--from", "SERVER", "SOURCE", "URL")),
    "--skill": ("SKILL", "--only"),
    "--file": ("PATH", "SKILL"),
    "--repo": ("SOURCE",),
    **dict.fromkeys(("-y", "--assume-yes", "--no-prompt", "--no-input"), ("--yes", "--force")),
    **dict.fromkeys(("-f", "--force"), ("--force", "--yes")),
    **dict.fromkeys(("--token", "--bearer", "--auth", "--api-key"), ("--token-env",)),
    **dict.fromkeys(("-c", "--cfg", "--configuration", "--config-file", "--settings"), ("--config",)),
    **dict.fromkeys(("--ignore-config", "--skip-config"), ("--no-config",)),
    **dict.fromkeys(("--output-format", "--fmt", "--as"), ("--format", "--json")),
    **dict.fromkeys(("-j", "--as-json"), ("--json",)),
    **dict.fromkeys(("--search", "--grep", "--match", "--query", "-q"), ("--filter",)),
    **dict.fromkeys(("--follow", "--symlinks", "--follow-symlinks", "-L"), ("--follow-links",)),
    **dict.fromkeys(("--dryrun", "-n", "--diff"), ("--dry-run", "--check")),
    **dict.fromkeys(("--frozen", "--no-watch", "--no-reload"), ("--static",)),
    **dict.fromkeys(("--cors", "--origin", "--allowed-origins", "--allow-origins"), ("--allow-origin",)),
    **dict.fromkeys(("--allowed-hosts", "--allow-hosts", "--hostname"), ("--allow-host",)),
    "--public": ("--allow-public",),
    **dict.fromkeys(("--werror", "--fail-on-warnings", "--warnings-as-errors"), ("--strict",)),
    **dict.fromkeys(("--autofix", "--write", "-w"), ("--fix",)),
    **dict.fromkeys(("--since", "--changed"), ("--changed-since",)),
    **dict.fromkeys(("--limit", "--max", "--max-tokens", "--budget"), ("--catalog-tokens", "--max-bytes")),
    "--tool": ("--tools",),
    "--name": ("--label", "NAME", "SKILL"),
    **dict.fromkeys(("--include", "--pattern"), ("--only",)),
    "--target": ("--client",),
    **dict.fromkeys(("-a", "-A"), ("--all",)),
    "-h": ("--help",),
    **dict.fromkeys(("-v", "-V", "--ver"), ("--version",)),
}
"""The options and arguments to suggest for an unknown option. Those that the command lacks are left out."""
