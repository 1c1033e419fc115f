"""All discovered skills of a host, and how names resolve to them. A name is not an identity (H9, H10)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from urllib.parse import quote

from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import RequestError
from skillwire.host.hosted_skill import HostedSkill, Identity, canonical_uri
from skillwire.library.names import AmbiguousNameError, UnknownNameError, did_you_mean
from skillwire.protocol.remote import FileClaim
from skillwire.safe_text import quoted, strip_invisible

_SHOWN = 10
"""Skills to name in one message."""
_SHOWN_URI = 200
_COMPARED = 2000
"""Names to compare an unknown name with, for suggestions."""
_MAX_CLASHES = 200
"""Shared names to report one by one."""
_IN_URIS = "!$&'()*+,;=:@/?#~"


def _several(message: str) -> Problem:
    """Return a warning that belongs to no single server."""
    return Problem("", Rule.NAME_SHARED, Severity.WARNING, message)


class NoLabelError(RequestError):
    """A URI without a label. Any server may use that URI (H9)."""

    def __init__(self, uri: str, handles: list[str]) -> None:
        fix = f"write {_either(handles)}" if handles else "write `LABEL:URI`"
        super().__init__(f"{quoted(uri)} does not name a server; {fix}")


class Registry:
    """All skills of all servers and folders at one moment. Immutable."""

    def __init__(
        self,
        skills: Iterable[HostedSkill] = (),
        problems: Iterable[Problem] = (),
        labels: Iterable[str] = (),
    ) -> None:
        """`labels` are those of all servers and folders, also of those without skills."""
        self._by_identity = {each.identity: each for each in _named(list(skills))}
        self.skills = tuple(self._by_identity.values())
        """In the order of the servers and folders, and within each in list order."""
        self._given_problems = tuple(problems)
        self._labels = frozenset(labels) | {each.label for each in self.skills}
        self._by_handle = {each.handle: each for each in self.skills}
        self._by_name: defaultdict[str, list[HostedSkill]] = defaultdict(list)
        for each in self.skills:
            for name in {each.name, each.path}:
                self._by_name[name].append(each)
        self.problems = (*self._given_problems, *self._clashes())
        """The problems of each server or folder, then every name that several skills share (H10)."""

    def __iter__(self) -> Iterator[HostedSkill]:
        return iter(self.skills)

    def __len__(self) -> int:
        return len(self.skills)

    def get(self, identity: Identity) -> HostedSkill | None:
        return self._by_identity.get(identity)

    def skill(self, identity: Identity) -> HostedSkill:
        return self._by_identity[identity]

    def knows(self, name: str) -> bool:
        """Whether `resolve` finds exactly one skill."""
        try:
            self.resolve(name)
        except RequestError:
            return False
        return True

    def file(self, identity: Identity) -> FileClaim | None:
        """Return the listed file at a label and URI, in any spelling; None if no skill lists it."""
        label, uri = identity
        key = canonical_uri(uri)
        own = (each for each in self.skills if each.label == label)
        inside = (skill for skill in own if key.startswith(f"{canonical_uri(skill.root)}/"))
        files = (file for skill in inside for file in skill.files or () if canonical_uri(file.uri) == key)
        return next(files, None)

    def having(self, skill: HostedSkill) -> "Registry":
        """Return a registry with this skill added or replaced."""
        known = {**self._by_identity, skill.identity: skill}
        return Registry(known.values(), self._given_problems, self._labels)

    def resolve(self, name: str) -> HostedSkill:
        """Return the skill that a name refers to.

        `label:name`, `label:path/to/name` and `label:URI` refer to a skill of that server or folder. A bare
        name or path refers to the only skill that has it. The user's own skills take precedence, so that no
        server can replace one (H10). Raises `UnknownNameError`, `AmbiguousNameError` or `NoLabelError`.
        """
        if (found := self._by_handle.get(name)) is not None:
            return found
        label, colon, rest = name.partition(":")
        if colon and not rest.startswith("//"):
            return self._one(name, [each for each in self._matches(rest) if each.label == label])
        if "://" in name:
            raise NoLabelError(name, [each.handle for each in self._matches(name)])
        first = name.partition("/")[0] if "/" in name else ""
        # A path that starts with a label must not resolve to a skill of another server.
        named_label = first if first in self._labels else ""
        found_all = [each for each in self._matches(name) if each.local or named_label in {"", each.label}]
        return self._one(name, [each for each in found_all if each.local] or found_all)

    def _matches(self, rest: str) -> list[HostedSkill]:
        if "://" in rest:
            uris = {rest, f"{rest.rstrip('/')}/{SKILL_FILE}"}
            return [each for each in self.skills if each.uri in uris]
        return self._by_name.get(rest, [])

    def _one(self, name: str, found: list[HostedSkill]) -> HostedSkill:
        if not found:
            known = [each.handle for each in self.skills[:_COMPARED]]
            raise UnknownNameError(name, did_you_mean(name, known))
        if len(found) > 1:
            raise AmbiguousNameError(name, [each.handle for each in found[:_SHOWN]])
        return found[0]

    def _clashes(self) -> Iterator[Problem]:
        """Yield a warning for each name that several skills share: one may imitate another (H10)."""
        by_name: defaultdict[str, list[HostedSkill]] = defaultdict(list)
        for each in self.skills:
            by_name[each.name].append(each)
        shared = [(name, found) for name, found in by_name.items() if len(found) > 1]
        for name, found in shared[:_MAX_CLASHES]:
            sharing = ", ".join(f"{each.quoted} ({each.origin})" for each in found[:_SHOWN])
            more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
            own = [each for each in found if each.local]
            means = f"{quoted(name)} alone means your own" if len(own) == 1 else "the name alone is ambiguous"
            yield _several(f"{len(found)} skills share the name {quoted(name)}: {sharing}{more}; {means}")
        if (rest := len(shared) - _MAX_CLASHES) > 0:
            yield _several(f"{rest:,} more names are shared by several skills")


def _named(skills: list[HostedSkill]) -> list[HostedSkill]:
    """Return the skills with handles: the shortest unique name, with the label for a server's skill (H10)."""
    own = Counter(each.name for each in skills if each.local)
    spellings: tuple[Callable[[HostedSkill], str], ...] = (
        lambda each: each.name,
        lambda each: each.path if "/" in each.path else strip_invisible(each.root, _SHOWN_URI),
        lambda each: quote(each.uri, safe=_IN_URIS, errors="surrogatepass"),  # always unique
    )
    handles: dict[Identity, str] = {}
    left = skills
    for spelling in spellings:
        named = [(each, (each.label, spelling(each))) for each in left]
        count = Counter(name for _, name in named)
        handles |= {each.identity: ":".join(name) for each, name in named if count[name] == 1}
        left = [each for each, name in named if count[name] > 1]
    for each in skills:
        if each.local and own[each.name] == 1:
            handles[each.identity] = each.name
    return [replace(each, handle=handles[each.identity]) for each in skills if each.identity in handles]


def _either(handles: list[str]) -> str:
    return " or ".join(quoted(each) for each in handles[:_SHOWN])
