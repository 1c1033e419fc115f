"""The names by which people and models call skills, and the skill or file that such a name means (S17).

A skill is called by its name. If several skills share a name, `bare_name_owner` decides which of them is
called by it. The other skills are called by their paths.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from urllib.parse import unquote

from skillwire.core.names import SKILL_FILE, find_close_matches, root_uri
from skillwire.core.record import SkillRecord, Trust
from skillwire.core.template import SkillTemplate
from skillwire.core.template_mismatch import explain_values
from skillwire.errors import RequestError
from skillwire.library.bare_names import bare_name_owner, full_name
from skillwire.library.catalog import Catalog, Entries, enclosing_skills, entry_in
from skillwire.library.references import (
    MAX_REFERENCE,
    Match,
    SkillPaths,
    document_names,
    find_at,
    find_below,
    find_matches,
    find_similar,
    fold,
    is_document_name,
    spellings,
)
from skillwire.library.skill_table import SkillTable
from skillwire.library.template_overlaps import explain_taken
from skillwire.safe_text import quoted

MAX_SUGGESTIONS = 3
_MAX_LISTED_HANDLES = 20
"""Maximum number of skills with the same name that an error lists."""


class AmbiguousNameError(RequestError):
    """Several skills have this name."""

    def __init__(self, name: str, handles: list[str]) -> None:
        self.handles = handles
        listed = ", ".join(quoted(handle) for handle in handles[:_MAX_LISTED_HANDLES])
        if len(handles) > _MAX_LISTED_HANDLES:
            listed += f" or one of {len(handles) - _MAX_LISTED_HANDLES:,} more"
        super().__init__(f"{quoted(name)} is the name of {len(handles)} skills; use one of: {listed}")


class UnknownNameError(RequestError):
    """No skill has this name, or the name means a file or folder instead of a skill."""

    def __init__(self, name: str, hint: str = "", closest: Sequence[str] = ()) -> None:
        self.name, self.suggestion = name, hint
        self.closest = closest
        """The most similar names, if the hint asks whether one of them was meant."""
        super().__init__(f"there is no skill {quoted(name)}" + (f"; {hint}" if hint else ""))


class TemplateNameError(UnknownNameError):
    """The name belongs to a template, and the template's parameters need values."""

    def __init__(self, name: str, template: SkillTemplate) -> None:
        self.template, self.name, self.closest = template, name, ()
        self.suggestion = explain_values(template, {})
        RequestError.__init__(self, f"{quoted(name)} stands for many skills; {self.suggestion}")


@dataclass(frozen=True, slots=True)
class Reference:
    """What a name refers to: a skill, or a file or folder of a skill."""

    entry: SkillRecord
    path: str = ""
    """The path of the file or folder. Empty for the skill itself."""
    is_similar: bool = False
    """Whether the name differs from what was written, for example in case."""


def template_names(
    templates: Iterable[SkillTemplate], taken: Container[str] = ()
) -> dict[str, SkillTemplate]:
    """Return templates by name: the path, or `label:path` if `taken` or an earlier template has the path."""
    named = dict[str, SkillTemplate]()
    for each in templates:
        is_free = each.path not in named and each.path not in taken
        named.setdefault(each.path if is_free else f"{each.label}:{each.path}", each)
    return named


class Names:
    """Finds skills and files by name in one catalog."""

    def __init__(self, catalog: Catalog, *, by_path: bool = False, hide_withheld: bool = False) -> None:
        """Find the skills of a catalog, with `hide_withheld` only those that are not withheld.

        With `by_path`, no handle is a bare name.
        """
        self._catalog = catalog
        self._hides = hide_withheld and catalog.entries.withheld_count > 0
        self._entries: Entries = _NotWithheld(catalog.entries) if self._hides else catalog.entries
        self._by_path = by_path
        self._owners: dict[str, SkillRecord | None] = {}

    def named(self, name: str) -> Sequence[SkillRecord]:
        """Return all skills with this name, in listing order."""
        sharing = self._catalog.entries.named(name)
        return [each for each in sharing if each.trust is not Trust.WITHHELD] if self._hides else sharing

    def handle(self, entry: SkillRecord) -> str:
        """Return the name to use for this skill. No other skill has it, and it is never a URI."""
        if not self._by_path and self._owner(entry.name) is entry:
            return entry.name
        name = full_name(entry)
        taken = "/" not in entry.path and entry_in(self._entries, root_uri(name.split("/"))) is not None
        return f"{entry.origin.source}:{unquote(entry.path)}" if taken else name

    def with_handle(self, handle: str) -> SkillRecord | None:
        """Return the skill that has exactly this handle, or None."""
        if not handle.isprintable():
            return None
        # A handle ends in the skill's name, after `/` or `:`.
        name = handle.rpartition("/")[2].rpartition(":")[2]
        at_path = self._entries.get(_document_uri(handle))
        candidates = chain((self._owner(handle), at_path), self.named(name))
        return next((each for each in candidates if each is not None and self.handle(each) == handle), None)

    def __contains__(self, handle: object) -> bool:
        """Return whether a skill has exactly this handle."""
        return isinstance(handle, str) and self.with_handle(handle) is not None

    def handles(self) -> Iterator[str]:
        """Yield the handle of each skill, in listing order."""
        return map(self.handle, self._entries.values())

    def find(self, name: str, offered: Iterable[str] | None = None) -> SkillRecord:
        """Return the skill that `name` refers to.

        Raises the same errors as `resolve`, and `UnknownNameError` if `name` refers to a file or folder.
        """
        found = self.resolve(name, offered)
        if found.path:
            of = f"it is the file {quoted(found.path)} of the skill {quoted(self.handle(found.entry))}"
            raise UnknownNameError(name, of)
        return found.entry

    def resolve(
        self, name: str, offered: Iterable[str] | None = None, base: SkillRecord | None = None
    ) -> Reference:
        """Return the skill or file that `name` refers to.

        `name` is a handle, a URI, `label:name`, a path of a skill or file, or the end of such a path. For a
        skill below the label of its source, the URI in that source also works. With `base`, paths below that
        skill are tried first. If nothing has this name, case, surrounding space, and `_` or `-` are ignored.
        Raises `AmbiguousNameError`; `TemplateNameError` if only a template has the
        name; or else `UnknownNameError`, which explains the wrong template parameter or suggests similar
        names. If `offered` is given, only those names are suggested.
        """
        is_uri = "://" in name
        found = self._find_by_any_uri(name, base) if is_uri else self._find_by_text(name, base)
        if not found and (template := self.template(name)) is not None:
            raise TemplateNameError(name, template)
        if not found and not is_uri:
            found = self._find_similar(name, base)
        if len(found) > 1:
            raise AmbiguousNameError(name, [self._shown(each) for each in found])
        if not found:
            if hint := self._explain_taken(name) or self.explain(name):
                raise UnknownNameError(name, hint)
            known = self.handles() if offered is None else offered
            close = find_close_matches(name, known, MAX_SUGGESTIONS)
            raise UnknownNameError(name, ask_which(close), close)
        return found[0]

    def template(self, name: str) -> SkillTemplate | None:
        """Return the template that `name` refers to, or None. Withheld templates are ignored.

        `name` is the template's path, `label/path`, `label:path` or URI, with or without `/SKILL.md`.
        """
        text = name[:MAX_REFERENCE].removesuffix(f"/{SKILL_FILE}")
        label, colon, rest = text.partition(":")
        for each in self._catalog.templates:
            names = {each.path, f"{each.label}/{each.path}", each.uri.removesuffix(f"/{SKILL_FILE}")}
            if not each.is_withheld and (text in names or (colon and label == each.label and rest in names)):
                return each
        return None

    def explain(self, name: str) -> str:
        """Return which parameter of a template is wrong in `name`; empty if `name` resembles no template."""
        text, labels = name[:MAX_REFERENCE], {each.label for each in self._catalog.templates}
        below = (rest for label, _, rest in (text.partition(":"), text.partition("/")) if label in labels)
        explained = (self._catalog.explain_mismatch(each) for each in (text, *below))
        return next((each for each in explained if each), "")

    def is_taken(self, label: str, path: str) -> bool:
        """Return whether a skill or template of another source than `label` answers at a path."""
        uri = _document_uri(path)
        if (entry := self._catalog.entries.get(uri)) is not None:
            return entry.origin.source != label
        template = self._catalog.template_of(uri)
        return template is not None and template.label != label

    def _explain_taken(self, name: str) -> str:
        """Return which template answers in place of one of the label in `name`; `""` if none does."""
        text = name[:MAX_REFERENCE].lstrip("/")
        for label, _, rest in (text.partition(":"), text.partition("/")):
            paths = [split.path for split in spellings(rest)]
            for template in self._catalog.templates:
                if template.label != label or template.is_withheld:
                    continue
                for path in paths:
                    if template.match_path(path) is None:
                        continue
                    owner = self._catalog.template_before(template, _document_uri(path))
                    if owner is not None:
                        return explain_taken(path, owner, f"write {quoted(path)} to load that skill")
        return ""

    def _owner(self, name: str) -> SkillRecord | None:
        """Return the skill that is called by a bare name; None if no skill has it or it is ambiguous."""
        sharing = self.named(name)
        if len(sharing) < 2:
            return sharing[0] if sharing else None
        if name not in self._owners:
            self._owners[name] = None if self._by_path else bare_name_owner(sharing)
        return self._owners[name]

    def _find_by_any_uri(self, uri: str, base: SkillRecord | None) -> list[Reference]:
        """Return what a URI refers to here, or else in a source whose skills are published below its label.

        The text of a server's skill refers to skills of that server (H9).
        """
        if base is not None and base.origin.foreign and (found := self._find_by_own_uri(uri, base)):
            return found
        return self._find_by_uri(uri) or self._find_by_own_uri(uri, base) or self._find_by_own_uri(uri)

    def _find_by_own_uri(self, uri: str, base: SkillRecord | None = None) -> list[Reference]:
        """Return the skills or files with this URI in their own source, which is that of `base` if given."""
        path = uri[:MAX_REFERENCE].partition("://")[2]
        every = self._catalog.entries.labels
        labels = dict.fromkeys((*every, *(each.label for each in self._catalog.templates)))
        found: dict[tuple[str, str], Reference] = {}
        for label in labels if base is None else [base.origin.source]:
            for each in self._references(find_at(self._paths(label), f"{label}/{path}")):
                found[each.entry.uri, each.path] = each
        return list(found.values())

    def _find_by_uri(self, uri: str) -> list[Reference]:
        folder, uris = uri.rstrip("/"), [uri.rstrip("/")]
        before, _, last = folder.rpartition("/")
        if is_document_name(last):
            folder, uris = before, [f"{before}/{name}" for name in document_names(last)]
        main = f"{folder}/{SKILL_FILE}"
        if (entry := self._entries.get(main)) is not None:
            return [Reference(entry)]
        for outer in enclosing_skills(self._entries, self._catalog.above, folder):
            inside = {outer.uri_of(path): path for path in _paths_in(outer)}
            path = next((inside[each] for each in (*uris, folder) if each in inside), None)
            if path is not None:
                return [Reference(outer, path)]
        instance = None if main in self._catalog.entries else self._catalog.instance(main)
        return [] if instance is None else [Reference(instance)]

    def _find_by_text(self, name: str, base: SkillRecord | None) -> list[Reference]:
        if base is not None and (below := find_below(self._paths(), name, base)):
            return self._references(below)
        if (owner := self._owner(name)) is not None:
            return [Reference(owner)]
        label, colon, rest = name[:MAX_REFERENCE].partition(":")
        if colon and (found := find_matches(self._paths(label), rest)):
            return self._references(found)
        if found := find_matches(self._paths(), name):
            return self._references(found)
        label, _, rest = name[:MAX_REFERENCE].lstrip("/").partition("/")
        return self._references(find_matches(self._paths(label), rest))

    def _find_similar(self, name: str, base: SkillRecord | None) -> list[Reference]:
        """Return what `name` refers to if case, surrounding space, and `_` or `-` do not matter (F7)."""
        text = name[:MAX_REFERENCE]
        found = find_similar(self._paths(), text, base)
        label, colon, rest = text.partition(":")
        if not found and colon:
            labels = self._catalog.entries.labels
            similar = [each for each in labels if fold(each) == fold(label)]
            found = find_similar(self._paths(similar[0]), rest) if len(similar) == 1 else []
        return [replace(each, is_similar=True) for each in self._references(found)]

    def _paths(self, label: str | None = None) -> "_Paths":
        return _Paths(self, self._catalog, self._entries, label)

    def _references(self, matches: Iterable[Match[SkillRecord]]) -> list[Reference]:
        return [each for match in matches for each in self._reference(match)]

    def _reference(self, match: Match[SkillRecord]) -> list[Reference]:
        if match.skill is not None:
            return [Reference(match.skill, match.file)]
        instance = self._catalog.instance(_document_uri(match.path))
        return [] if instance is None else [Reference(instance, match.file)]

    def _shown(self, found: Reference) -> str:
        """Return the name of one of several matches for an error: a handle, or the whole path of a file."""
        return f"{unquote(found.entry.path)}/{found.path}" if found.path else self.handle(found.entry)


class _NotWithheld(Mapping[str, SkillRecord]):
    """The skills of a catalog that are not withheld."""

    def __init__(self, table: SkillTable) -> None:
        self._table = table

    def __getitem__(self, uri: str) -> SkillRecord:
        if (entry := self._table[uri]).trust is Trust.WITHHELD:
            raise KeyError(uri)
        return entry

    def __iter__(self) -> Iterator[str]:
        return (entry.uri for entry in self._table.values() if entry.trust is not Trust.WITHHELD)

    def __len__(self) -> int:
        return len(self._table) - self._table.withheld_count


class _Paths(SkillPaths[SkillRecord]):
    """The skills of a catalog, or of one of its sources, by path and by name."""

    def __init__(self, names: Names, catalog: Catalog, entries: Entries, label: str | None) -> None:
        self._names, self._catalog, self._entries, self._label = names, catalog, entries, label

    @property
    def patterns(self) -> Sequence[str]:
        return [
            each.path
            for each in self._catalog.templates
            if self._label in {None, each.label} and not each.is_withheld
        ]

    def at(self, path: str) -> Sequence[SkillRecord]:
        return self._only([entry_in(self._entries, root_uri(path.split("/")))])

    def named(self, name: str) -> Sequence[SkillRecord]:
        return self._only(self._names.named(name))

    def called(self, name: str) -> Sequence[SkillRecord]:
        if "/" in name:
            _, _, path = name.partition("/")
            found = self._only([entry_in(self._entries, root_uri(path.split("/")))])
            return [entry for entry in found if self._label is None and self._names.handle(entry) == name]
        sharing = self.named(name)
        if (owner := bare_name_owner(sharing) if sharing else None) is not None:
            return [owner]
        at_root = [entry for entry in sharing if unquote(entry.path) == f"{self._label}/{name}"]
        return at_root if len(at_root) == 1 else sharing

    def path_of(self, skill: SkillRecord) -> str:
        return unquote(skill.path)

    def has_file(self, skill: SkillRecord, path: str) -> bool:
        return path in _paths_in(skill)

    def files_of(self, skill: SkillRecord) -> Iterable[str]:
        return _paths_in(skill)

    def has_instance(self, path: str) -> bool:
        uri = _document_uri(path)
        if uri in self._catalog.entries or (entry := self._catalog.instance(uri)) is None:
            return False
        return entry.trust is not Trust.WITHHELD and self._label in {None, entry.origin.source}

    def _only(self, found: Iterable[SkillRecord | None]) -> Sequence[SkillRecord]:
        return [entry for entry in found if entry is not None and self._label in {None, entry.origin.source}]


def _paths_in(entry: SkillRecord) -> Iterable[str]:
    """Return the paths of all files and folders of a skill."""
    return (*(file.path for file in entry.files), *entry.directories)


def _document_uri(path: str) -> str:
    return f"{root_uri(path.split('/'))}/{SKILL_FILE}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question with the known words most similar to `word`; empty if no word is similar."""
    return ask_which(find_close_matches(word, known, MAX_SUGGESTIONS))


def ask_which(close: Sequence[str]) -> str:
    """Return a question with these words; empty if there is none."""
    return f"did you mean {' or '.join(quoted(each) for each in close)}?" if close else ""
