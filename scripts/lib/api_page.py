"""Generate docs/api.md from the public modules of the package, without importing them."""

import ast
from collections.abc import Iterator
from pathlib import Path

MODULES = {
    "skillwire": "The names that most programs need.",
    "skillwire.errors": "Every exception that a caller may have to handle.",
    "skillwire.server": "More control over how skills are served.",
    "skillwire.host": "Questions and answers of approval, logins, and the clients below a host.",
    "skillwire.sources": "To write a source of your own, or to combine sources.",
    "skillwire.library": "What a library returns and reports.",
    "skillwire.drive": "Live skills from running programs.",
    "skillwire.contract": "The repository contract.",
    "skillwire.adapters.openai_agents": "Tools for the OpenAI Agents SDK.",
    "skillwire.adapters.pydantic_ai": "Tools for Pydantic AI.",
}
_INTRODUCTION = """# API

Import these names from the modules below. Everything else is private and may change in any version.

Names are loaded when they are first used. `import skillwire` does not load the MCP SDK. This page is
generated from the code. [Use Skillwire as a library](library.md) shows how the names work together.
"""


def page(source: Path) -> str:
    """Return the page for the package below the folder `source`."""
    return _INTRODUCTION + "".join(_section(source, module, about) for module, about in MODULES.items())


def _section(source: Path, module: str, about: str) -> str:
    rows = (f"| `{name}` | {what} |\n" for name, what in sorted(_names(source, module), key=_without_case))
    return f"\n## {module}\n\n{about}\n\n| name | what it is |\n|---|---|\n{''.join(rows)}"


def _without_case(row: tuple[str, str]) -> str:
    return row[0].lower()


def _names(source: Path, module: str) -> Iterator[tuple[str, str]]:
    tree = _parsed(source, module)
    owners = dict(_owners(tree)) or dict.fromkeys(_public_functions(tree), module)
    for name, owner in owners.items():
        if owner == f"{module}.{name}":
            yield name, _first_line(_parsed(source, owner))
        else:
            yield from _described(_parsed(source, owner), name)


def _owners(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each name that a public module exports, and the module that defines it."""
    checking = (
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    for node in (each for block in checking for each in block.body if isinstance(each, ast.ImportFrom)):
        for alias in node.names:
            is_module = node.module == "skillwire"
            yield alias.name, f"{node.module}.{alias.name}" if is_module else str(node.module)


def _public_functions(tree: ast.Module) -> list[str]:
    return [
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]


def _described(tree: ast.Module, name: str) -> Iterator[tuple[str, str]]:
    for at, node in enumerate(tree.body):
        match node:
            case ast.ClassDef(name=found) if found == name:
                yield name, _first_line(node)
                return
            case ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found) if found == name:
                yield f"{name}({_parameters(node.args)})", _first_line(node)
                return
            case ast.AnnAssign(target=ast.Name(id=found)) | ast.Assign(targets=[ast.Name(id=found)]) if (
                found == name
            ):
                after = tree.body[at + 1] if at + 1 < len(tree.body) else None
                yield name, _text_of(after) or "a type"
                return
            case _:
                pass
    raise LookupError(f"{name} is exported, but its module does not define it")


def _text_of(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text.strip().partition("\n")[0]
        case _:
            return ""


def _parameters(arguments: ast.arguments) -> str:
    """Return the names of the parameters. Those with a default are written `name=…`."""
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    parts = [each.arg if at < required else f"{each.arg}=…" for at, each in enumerate(positional)]
    if arguments.vararg is not None:
        parts.append(f"*{arguments.vararg.arg}")
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    parts += [each.arg if default is None else f"{each.arg}=…" for each, default in named]
    return ", ".join(part for part in parts if part not in {"self", "cls"})


def _first_line(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    text = ast.get_docstring(node)
    if text is None:
        raise LookupError(f"{getattr(node, 'name', 'a public module')} has no docstring")
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def _parsed(source: Path, module: str) -> ast.Module:
    path = source / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))
