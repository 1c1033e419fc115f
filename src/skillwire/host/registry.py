"""All known skills and templates of a host, and how names resolve to them.

Only the label and URI together identify a skill; several skills may have the same name (H9, H10).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from skillwire.core.names import SKILL_FILE, find_close_matches, parent_paths
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import RequestError
from skillwire.host.hosted_skill import HostedSkill, Identity, canonical_uri
from skillwire.host.hosted_template import HostedTemplate
from skillwire.host.servers.records import path_of
from skillwire.library.bare_names import bare_name_owner
from skillwire.library.names import AmbiguousNameError, UnknownNameError, did_you_mean
from skillwire.library.references import (
    MAX_REFERENCE,
    Match,
    SkillPaths,
    SplitReference,
    document_names,
    find_below,
    find_matches,
    find_similar,
    is_document_name,
    paths_by_end,
    spellings,
)
from skillwire.protocol.claims import FileClaim, SkillClaim
from skillwire.safe_text import quoted, strip_invisible

_SHOWN = 10
"""Maximum number of skills to name in one message."""
_SHOWN_URI = 200
_COMPARED = 2000
"""Maximum number of names to compare an unknown name with, for suggestions."""
_SUGGESTIONS = 2
"""Maximum number of names to suggest for an unknown name."""
_MAX_CLASHES = 200
"""Maximum number of shared names to report one by one."""
_IN_URIS = "!$&'()*+,;=:@/?#~"


def _several(message: str) -> Problem:
    """Return a warning about shared names, without the label of a server."""
    return Problem("", Rule.NAME_SHARED, Severity.WARNING, message)


class NoLabelError(RequestError):
    """A URI without a label belongs to no skill, or to several. Any server may use any URI (H9)."""

    def __init__(self, uri: str, handles: list[str]) -> None:
        fix = f"write {_either(handles)}" if handles else "write `LABEL:URI`"
        super().__init__(f"{quoted(uri)} does not name a server; {fix}")


class WrongParameterError(UnknownNameError):
    """A path almost matches a template. The hint says which parameters are missing or wrong."""

    def __init__(self, name: str, explanation: str) -> None:
        super().__init__(name, explanation)
        self.hint = explanation


class HostTemplateNameError(UnknownNameError):
    """A name refers to a template. The name of a skill has a value in place of each parameter."""

    def __init__(self, name: str, template: HostedTemplate) -> None:
        self.template = template
        self.explanation = template.explain(template.path) or (
            f"write {quoted(template.path)} with a value for each parameter: {template.describe_parameters()}"
        )
        RequestError.__init__(self, f"{quoted(name)} stands for many skills; {self.explanation}")


@dataclass(frozen=True, slots=True)
class HostReference:
    """What a name refers to: a skill, or a file or folder of a skill."""

    identity: Identity
    skill: HostedSkill | None
    """None for a skill that is not in the registry. It must be fetched by its identity (H3)."""
    path: str = ""
    """The path of the file or folder. Empty for the skill itself."""


class Registry:
    """The skills, templates and problems of all servers and folders at one moment. Immutable."""

    def __init__(
        self,
        skills: Iterable[HostedSkill] = (),
        problems: Iterable[Problem] = (),
        labels: Iterable[str] = (),
        templates: Iterable[HostedTemplate] = (),
        unlisted: Iterable[Identity] = (),
    ) -> None:
        """Create a registry. `labels` are those of all servers and folders, even if they have no skills.

        `unlisted` are skills that were looked up but are in no list. They rename no listed skill.
        """
        self.templates = tuple(_named_templates(list(templates)))
        """The templates, in the order of the servers and folders."""
        self._unlisted = frozenset(unlisted)
        self._by_identity = {each.identity: each for each in _named(list(skills), self._unlisted)}
        self.skills = tuple(self._by_identity.values())
        """The skills, in the order of the servers and folders, and within each in list order.

        Skills that were looked up since the last discovery are at the end.
        """
        self._given_problems = tuple(problems)
        listed = (*self.skills, *self.templates)
        self._labels = frozenset(labels) | {each.label for each in listed}
        self._folded_labels = {label.casefold(): label for label in self._labels}
        self._by_handle = {each.handle: each for each in self.skills}
        self._by_name: defaultdict[str, list[HostedSkill]] = defaultdict(list)
        self._by_path: defaultdict[str, list[HostedSkill]] = defaultdict(list)
        self._by_uri: defaultdict[str, list[HostedSkill]] = defaultdict(list)
        for each in self.skills:
            self._by_name[each.name].append(each)
            self._by_uri[each.uri].append(each)
            # Also by the displayed path, because people cannot see every character of a path (H27).
            for path in {_full_path(each), each.path}:
                self._by_path[path].append(each)
        self.problems = (*self._given_problems, *self._clashes())
        """The problems with each server or folder, then a warning for each name that skills share (H10)."""

    def __iter__(self) -> Iterator[HostedSkill]:
        return iter(self.skills)

    def __len__(self) -> int:
        return len(self.skills)

    def get(self, identity: Identity) -> HostedSkill | None:
        return self._by_identity.get(identity)

    def skill(self, identity: Identity) -> HostedSkill:
        return self._by_identity[identity]

    def file(self, identity: Identity) -> FileClaim | None:
        """Return the listed file with this label and URI, in any spelling; None if no skill lists it."""
        label, uri = identity
        key = canonical_uri(uri)
        own = (each for each in self.skills if each.label == label)
        inside = (skill for skill in own if key.startswith(f"{canonical_uri(skill.root)}/"))
        files = (file for skill in inside for file in skill.files or () if canonical_uri(file.uri) == key)
        return next(files, None)

    def packed_owner(self, label: str, file: FileClaim) -> SkillClaim | None:
        """Return the skill whose archive contains a listed file; None if the file is read by its own URI."""
        own = (each.claim for each in self.skills if each.label == label)
        return next((each for each in own if each and each.archive and file in (each.files or ())), None)

    def having(self, skill: HostedSkill) -> "Registry":
        """Return a registry with this skill replaced, or added as an unlisted skill."""
        return self.having_all([skill])

    def having_all(self, skills: Iterable[HostedSkill]) -> "Registry":
        """Return a registry with these skills replaced, or added as unlisted skills."""
        changed = {each.identity: each for each in skills}
        known = {**self._by_identity, **changed}
        unlisted = self._unlisted.union(each for each in changed if each not in self._by_identity)
        return Registry(known.values(), self._given_problems, self._labels, self.templates, unlisted)

    def resolve(self, name: str, base: HostedSkill | None = None) -> HostedSkill:
        """Return the skill in the registry that a name refers to. Raises the errors of `find`.

        Raises `UnknownNameError` if the name refers to a file, or to a skill that is not in the registry.
        """
        found = self.find(name, base)
        if found.skill is None:
            raise UnknownNameError(name)
        if found.path:
            of = f"it is the file {quoted(found.path)} of the skill {found.skill.quoted}"
            raise UnknownNameError(name, of)
        return found.skill

    def find(self, name: str, base: HostedSkill | None = None) -> HostReference:
        """Return the skill or file that a name refers to. Makes no request.

        The name may be a handle, `label:name`, `label:URI`, `label:path`, `label/path`, a bare name or URI, a
        path or the end of a path. A bare name, path or URI must refer to only one skill. For names and paths,
        the user's own skills take precedence, so that no server can replace one of them (H10). With `base`, a
        path may be relative to that skill or to its server, and a shared URI refers to the skill of that
        server.

        `label:URI` also refers to an unlisted skill, and `label:path` to a skill of a template. A listed
        skill takes precedence over a skill of a template of the same server or folder (H10). Raises
        `UnknownNameError`, `AmbiguousNameError` or `NoLabelError`.
        """
        if (handled := self._by_handle.get(name)) is not None:
            return HostReference(handled.identity, handled)
        label, colon, rest = name[:MAX_REFERENCE].partition(":")
        if colon and (inside := self._below_handle(name)) is not None:
            return inside
        if colon and not rest.startswith("//"):
            found = self._in_label(name, label, rest)
        elif "://" in name:
            found = self._by_bare_uri(name, base)
        else:
            found = self._by_text(name, base)
        if found is None:
            raise self._unknown(name)
        return found

    def _in_label(self, name: str, label: str, rest: str) -> HostReference | None:
        """Return what a path, name or URI refers to on a server or in a folder; None for no match."""
        includes = self._of(label)
        if "://" not in rest:
            listed = self._one(name, find_matches(self._paths(includes), rest))
            return listed or self._instance(name, rest, label)
        if label not in self._labels or len(name) > MAX_REFERENCE or "{" in rest:
            return None
        return self._one(name, self._by_address(rest, includes)) or _unlisted(label, rest)

    def _instance(self, name: str, path: str, label: str) -> HostReference | None:
        """Return the skill that a template of a server or folder has at this path, or None if none fits.

        If none has this whole path, the path may be the end of one. Raises `AmbiguousNameError` if several
        templates fit with different URIs.
        """
        own, splits = [each for each in self.templates if each.label == label], spellings(path)
        whole = ((each, split.path) for split in splits for each in own)
        ends = (
            (each, longer)
            for split in splits
            for each in own
            for longer in paths_by_end([each.path], split.segments)
        )
        found = _instances(whole) or _instances(ends)
        if len(found) > 1:
            raise AmbiguousNameError(name, [f"{label}:{uri}" for uri in found])
        return next((self._known_or_unlisted(label, uri) for uri in found), None)

    def _known_or_unlisted(self, label: str, uri: str) -> HostReference:
        return HostReference((label, uri), self.get((label, uri)))

    def _unknown(self, name: str) -> UnknownNameError:
        """Return the error for a name that refers to no skill, with suggestions if there are any."""
        text = name[:MAX_REFERENCE]
        for each in self.templates:
            if text in {each.handle, each.path, each.uri, f"{each.label}:{each.uri}"}:
                return HostTemplateNameError(name, each)
        for each in self.templates:
            below = (
                rest for label, _, rest in (text.partition(":"), text.partition("/")) if label == each.label
            )
            for path in (*below, *([text] if each.local else [])):
                if explained := each.explain(path.partition("://")[2] or path):
                    return WrongParameterError(name, explained)
        every = (*self.skills[:_COMPARED], *self.templates)
        label, _, rest = text.partition(":")
        handles = {each.handle.removeprefix(f"{each.label}:"): each.handle for each in every}
        if own := {bare: handle for bare, handle in handles.items() if handle == f"{label}:{bare}"}:
            # A long label that is right would make every name of its server similar.
            similar = find_close_matches(rest, own, _SUGGESTIONS)
        elif hint := did_you_mean(name, handles.values()):
            return UnknownNameError(name, hint)
        else:
            similar = find_close_matches(name, handles, 1)
        meant = " or ".join(quoted(handles[each]) for each in similar)
        return UnknownNameError(name, f"did you mean {meant}?" if meant else "")

    def find_beside(self, path: str, base: HostedSkill) -> HostReference | None:
        """Return what a path or URI in the text of `base` refers to on its server; None if there is no match.

        The result is `base`, another skill of the same server or folder, or a file of one of them (H19, H22).
        The `SKILL.md` of a skill of a template is also found, listed or not. Raises `AmbiguousNameError`.
        """
        paths = self._paths(self._of(base.label))
        if "://" in path:
            return self._one(path, self._by_address(path, self._of(base.label)))
        if listed := self._one(path, find_below(paths, path, base) or find_matches(paths, path)):
            return listed
        is_document = any(split.is_document for split in spellings(path))
        return self._instance_beside(path, base) if is_document else None

    def _below_handle(self, name: str) -> HostReference | None:
        """Return the file or folder that `HANDLE/PATH` names, if the handle begins with a label, else None.

        For the path `SKILL.md`, the result is the skill itself.
        """
        end = len(name) if len(name) <= MAX_REFERENCE else 0
        while (end := name.rfind("/", 0, end)) > 0:
            if (skill := self._by_handle.get(name[:end])) is not None and ":" in skill.handle:
                path = name[end + 1 :]
                is_document = is_document_name(path)
                if is_document or path in _inside(skill):
                    return HostReference(skill.identity, skill, "" if is_document else path)
        return None

    def _by_bare_uri(self, uri: str, base: HostedSkill | None) -> HostReference:
        """Return the only skill or file with this URI. Raises `NoLabelError` if none or several have it (H9).

        With `base`, if several have it, only the user's own skills and those on the server of `base` count.
        If none has it, a template of that server may match.
        """
        found = self._by_address(uri, lambda _: True)
        if len(found) > 1 and base is not None:
            found = [each for each in found if _skill(each).local or _skill(each).label == base.label]
        if not found and base is not None and (unlisted := self._instance_at(uri, base.label)) is not None:
            return unlisted
        if len(found) != 1:
            beside = [] if found or base is None else [f"{base.label}:{uri}"]
            raise NoLabelError(uri, [self._shown(each) for each in found] or beside)
        return _reference(found[0])

    def _instance_at(self, uri: str, label: str) -> HostReference | None:
        """Return the unlisted skill at a URI if a template of this server matches the URI, else None."""
        main = _document_uri(uri)
        claims = (each.claim for each in self.templates if each.label == label and each.claim is not None)
        return next((_unlisted(label, main) for each in claims if each.match(main) is not None), None)

    def _by_address(self, uri: str, includes: Callable[[HostedSkill], bool]) -> list[Match[HostedSkill]]:
        """Return the skills with this URI, or else the files and folders with this URI.

        Per label, a file or folder belongs to the innermost skill that lists it.
        """
        main = _document_uri(uri)
        if found := [each for each in self._by_uri.get(main, ()) if includes(each)]:
            return [Match(each, _full_path(each)) for each in found]
        matches: dict[str, Match[HostedSkill]] = {}
        folder = written = uri.rstrip("/")
        while folder := folder.rpartition("/")[0]:
            for each in self._by_uri.get(f"{folder}/{SKILL_FILE}", ()):
                path = unquote(written.removeprefix(f"{folder}/"))
                if not includes(each) or each.label in matches:
                    continue
                if (
                    inside := next((one for one in _spelled(path) if one in _inside(each)), None)
                ) is not None:
                    matches[each.label] = Match(each, _full_path(each), inside)
        return list(matches.values())

    def _by_text(self, name: str, base: HostedSkill | None) -> HostReference | None:
        is_path = "/" in name or "\\" in name
        base = base if is_path else None  # a bare name means the same, whatever skill is loaded
        beside = [] if base is None else self._beside(name, base)
        if own := beside if base is not None and base.local else find_matches(self._paths(_is_own), name):
            return self._one(name, own)
        if own := self._own_instance(name):
            return own
        for split in spellings(name):
            # A path that starts with a label must not resolve to a skill of another server (H9).
            if (label := self._named_label(split)) is not None:
                document = [split.document] if split.is_document else []
                rest = "/".join([*split.segments[1:], *document])
                whole = self._one(name, find_matches(self._paths(self._of(label)), name))
                return whole or self._in_label(name, label, rest)
        listed = self._one(name, beside or find_matches(self._paths(lambda _: True), name))
        if listed or (base is not None and (listed := self._instance_beside(name, base))):
            return listed
        # The text of a server's skill means only skills of that server (H9).
        if base is None:
            paths = self._paths(lambda _: True)
        else:
            paths = self._paths(_is_own if base.local else self._of(base.label))
        return self._one(name, find_similar(paths, name, base))

    def _instance_beside(self, path: str, base: HostedSkill) -> HostReference | None:
        """Return the skill that a template on the server of `base` has at a path, also relative to `base`."""
        below = "" if path.startswith("/") else f"{_full_path(base)}/{path}"
        return self._instance(path, path, base.label) or self._instance(path, below, base.label)

    def _beside(self, path: str, base: HostedSkill) -> list[Match[HostedSkill]]:
        """Return the matches for a path in a skill's text: below that skill, or else on its server.

        For one of the user's own skills, all of the user's own skills count instead of one server's.
        """
        paths = self._paths(self._of(base.label))
        if base.local:
            return _skills_first(paths, find_below(paths, path, base)) or find_matches(
                self._paths(_is_own), path
            )
        return _skills_first(paths, find_below(paths, path, base)) or find_matches(paths, path)

    def _own_instance(self, name: str) -> HostReference | None:
        """Return the skill that one of the user's own templates has at this path, or None if none fits."""
        labels = dict.fromkeys(each.label for each in self.templates if each.local)
        found = [own for label in labels if (own := self._instance(name, name, label)) is not None]
        if len(found) > 1:
            raise AmbiguousNameError(
                name, [f"{label}:{uri}" for label, uri in (each.identity for each in found)]
            )
        return found[0] if found else None

    def _named_label(self, split: SplitReference) -> str | None:
        """Return the label that a path of several segments starts with, ignoring case, or None."""
        several = len(split.segments) > 1
        return self._folded_labels.get(split.segments[0].casefold()) if several else None

    def _of(self, label: str) -> Callable[[HostedSkill], bool]:
        return lambda each: each.label == label

    def _paths(self, includes: Callable[[HostedSkill], bool]) -> "_Paths":
        return _Paths(self._by_name, self._by_path, includes, self._unlisted)

    def _one(self, name: str, found: Sequence[Match[HostedSkill]]) -> HostReference | None:
        if len(found) > 1:
            raise AmbiguousNameError(name, [self._shown(each) for each in found])
        return _reference(found[0]) if found else None

    def _shown(self, found: Match[HostedSkill]) -> str:
        """Return the handle of a match, followed by the path of its file if it has one."""
        return f"{_skill(found).handle}/{found.file}" if found.file else _skill(found).handle

    def shared_names(self) -> dict[str, list[HostedSkill]]:
        """Return each name that several listed skills share, with these skills."""
        by_name: defaultdict[str, list[HostedSkill]] = defaultdict(list)
        for each in self.skills:
            if each.identity not in self._unlisted:
                by_name[each.name].append(each)
        return {name: found for name, found in by_name.items() if len(found) > 1}

    def _clashes(self) -> Iterator[Problem]:
        """Yield a warning for each name that several listed skills share: one may imitate another (H10)."""
        shared = list(self.shared_names().items())
        for name, found in shared[:_MAX_CLASHES]:
            sharing = ", ".join(f"{each.quoted} ({each.origin})" for each in found[:_SHOWN])
            more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
            own = [each for each in found if each.local]
            means = "the name alone is ambiguous"
            if (owner := next((each for each in own if each.handle == name), None)) is not None:
                which = "your own" if len(own) == 1 else f"that of the {owner.origin}"
                means = f"{quoted(name)} alone means {which}"
            yield _several(f"{len(found)} skills share the name {quoted(name)}: {sharing}{more}; {means}")
        if (rest := len(shared) - _MAX_CLASHES) > 0:
            yield _several(f"{rest:,} more names are shared by several skills")


def _named(skills: list[HostedSkill], unlisted: Collection[Identity]) -> list[HostedSkill]:
    """Return the skills with handles: the label, and the first of name, path and URI that is unique.

    If a bare name refers to one of the user's own skills, the name alone is the handle of this skill (H10).
    An unlisted skill has its path or URI, so that a listed skill keeps its handle when it is looked up.
    """
    own = defaultdict[str, list[HostedSkill]](list)
    for each in skills:
        if each.local and each.identity not in unlisted:
            own[each.name].append(each)
    owners = {name: bare_name_owner([each.record for each in sharing]) for name, sharing in own.items()}
    spellings: tuple[Callable[[HostedSkill], str], ...] = (
        lambda each: each.name,
        lambda each: each.path if "/" in each.path else strip_invisible(each.root, _SHOWN_URI),
        lambda each: quote(each.uri, safe=_IN_URIS, errors="surrogatepass"),  # always unique
    )
    handles: dict[Identity, str] = {}
    left = [each for each in skills if each.identity not in unlisted]
    for spelling in spellings:
        named = [(each, (each.label, spelling(each))) for each in left]
        count = Counter(name for _, name in named)
        handles |= {each.identity: ":".join(name) for each, name in named if count[name] == 1}
        left = [each for each, name in named if count[name] > 1]
    for each in skills:
        if each.local and owners.get(each.name) is each.record:
            handles[each.identity] = each.name
    taken = set(handles.values())
    for each in skills:
        if each.identity in unlisted:
            own = (each.path, *(spelling(each) for spelling in spellings[1:]))
            names = (f"{each.label}:{name}" for name in own)
            if (free := next((name for name in names if name not in taken), None)) is not None:
                handles[each.identity] = free
                taken.add(free)
    return [replace(each, handle=handles[each.identity]) for each in skills if each.identity in handles]


def _either(handles: list[str]) -> str:
    return " or ".join(quoted(each) for each in handles[:_SHOWN])


class _Paths(SkillPaths[HostedSkill]):
    """The skills that `includes` accepts, by path and by name."""

    def __init__(
        self,
        by_name: Mapping[str, list[HostedSkill]],
        by_path: Mapping[str, list[HostedSkill]],
        includes: Callable[[HostedSkill], bool],
        unlisted: Collection[Identity],
    ) -> None:
        self._by_name, self._by_path, self._includes = by_name, by_path, includes
        self._unlisted = unlisted

    @property
    def patterns(self) -> Sequence[str]:
        return ()

    def at(self, path: str) -> Sequence[HostedSkill]:
        return [each for each in self._by_path.get(path, ()) if self._includes(each)]

    def named(self, name: str) -> Sequence[HostedSkill]:
        return [each for each in self._by_name.get(name, ()) if self._includes(each)]

    def called(self, name: str) -> Sequence[HostedSkill]:
        found = self.named(name)
        sharing = [each for each in found if each.identity not in self._unlisted] or found
        return [each for each in sharing if each.handle == name] or sharing

    def path_of(self, skill: HostedSkill) -> str:
        return _full_path(skill)

    def has_file(self, skill: HostedSkill, path: str) -> bool:
        return path in _inside(skill)

    def files_of(self, skill: HostedSkill) -> Iterable[str]:
        return _inside(skill)

    def has_instance(self, path: str) -> bool:  # noqa: ARG002 - there are no patterns
        return False


def _is_own(skill: HostedSkill) -> bool:
    return skill.local


def _skill(found: Match[HostedSkill]) -> HostedSkill:
    assert found.skill is not None, "a registry has no instances of patterns"
    return found.skill


def _reference(found: Match[HostedSkill]) -> HostReference:
    return HostReference(_skill(found).identity, found.skill, found.file)


def _unlisted(label: str, uri: str) -> HostReference:
    return HostReference((label, uri if uri.endswith(f"/{SKILL_FILE}") else _document_uri(uri)), None)


def _full_path(skill: HostedSkill) -> str:
    """Return the decoded path of a skill within its server or folder, whatever the scheme of its URI."""
    return "/".join(path_of(skill.uri))


def _document_uri(uri: str) -> str:
    """Return the URI of the `SKILL.md` for the URI of a skill's folder or of its `SKILL.md`."""
    folder = uri.rstrip("/")
    before, slash, last = folder.rpartition("/")
    return f"{before if slash and is_document_name(last) else folder}/{SKILL_FILE}"


def _instances(paths: Iterable[tuple[HostedTemplate, str]]) -> list[str]:
    """Return the URIs that templates have for these paths, each once."""
    return list(dict.fromkeys(uri for each, path in paths if (uri := each.instance(path)) is not None))


def _spelled(path: str) -> list[str]:
    """Return the path in a skill, and its other spellings if it ends in `SKILL.md`, in any case."""
    before, slash, last = path.rpartition("/")
    names = document_names(last) if is_document_name(last) else [last]
    return [f"{before}{slash}{name}" for name in names]


def _inside(skill: HostedSkill) -> set[str]:
    """Return the decoded paths of all listed files of a skill, and of their folders.

    If a skill lists no files, only `SKILL.md` is known.
    """
    if skill.files is None:
        return {SKILL_FILE}
    files = {unquote(file.uri.removeprefix(f"{skill.root}/")) for file in skill.files}
    return files | {folder for file in files for folder in parent_paths(file)}


def _skills_first(paths: _Paths, found: list[Match[HostedSkill]]) -> list[Match[HostedSkill]]:
    """Return the matches, or only the nested listed skill if a match is its `SKILL.md` (H18)."""
    for each in found:
        folder, _, last = each.file.rpartition("/")
        if is_document_name(last) and folder and (inner := paths.at(f"{each.path}/{folder}")):
            return [Match(skill, paths.path_of(skill)) for skill in inner]
    return found


def _named_templates(templates: list[HostedTemplate]) -> Iterator[HostedTemplate]:
    """Yield the templates with handles: the label and the path, or else the label and the URI template."""
    count = Counter((each.label, each.path) for each in templates)
    for each in templates:
        is_unique = count[each.label, each.path] == 1 and each.path.isprintable()
        yield replace(each, handle=f"{each.label}:{each.path if is_unique else each.spelling}")
