"""What evals use of the area `search`, which may be missing.

Areas do not import each other. So its modules are imported by name when they are needed.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from skillwire.errors import ConflictError
from skillwire.library.library import Library


def content_terms(text: str) -> dict[str, str]:
    """Return the different words of a text that say what it is about, with the terms of the search index."""
    module = _import("skillwire.search.text")
    terms = module.term_of_word()
    return {
        word: term for word in module.words(text) if (term := terms[word]) and word not in module.LIGHT_WORDS
    }


async def doctor_report(library: Library) -> dict[str, Any]:
    """Return the report of `skillwire doctor` as its `--json` prints it."""
    report = await _import("skillwire.search.doctor.command").examine(library)
    return report.to_json()


def use_stored_index(library: Library) -> None:
    """Search a library with the index that `skillwire search` and servers store and use."""
    folder = _import("skillwire.search.serving").index_folder()
    library.use_index(_import("skillwire.search.service").LibrarySearch(library, folder))


def _import(module: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ConflictError("this installation of Skillwire has no search") from error
