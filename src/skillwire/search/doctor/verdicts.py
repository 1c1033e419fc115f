"""What each client would show, shorten, drop or refuse of the skills that a server offers."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from skillwire.core.names import SKILL_FILE
from skillwire.search.doctor import limits
from skillwire.search.doctor.limits import CHARACTERS_PER_TOKEN, Limit
from skillwire.search.doctor.offer import Offer, OfferedSkill, Seen, seen_in

_TAG = re.compile(r"<[^>]+>")


class Verdict(StrEnum):
    """What becomes of a skill."""

    SHOWN = "shown"
    SHORTENED = "shortened"
    """Models see its name, but not its whole description."""
    DROPPED = "dropped"
    """Models do not see it, but other ways to load it may remain."""
    REFUSED = "refused"
    """The client does not take the skill at all."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A skill that a client does not show whole."""

    name: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class ClientReport:
    """What one client does with the skills if it gets them in one way."""

    client: str
    way: str
    """How the client gets the skills."""
    skills: int
    findings: tuple[Finding, ...]
    """All skills that are not shown whole, in the order of the list."""
    limits: tuple[Limit, ...] = ()
    notes: tuple[str, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """Return the number of skills with this verdict."""
        if verdict is Verdict.SHOWN:
            return self.skills - len(self.findings)
        return sum(each.verdict is verdict for each in self.findings)

    @property
    def fails(self) -> bool:
        """Whether a skill is dropped or refused."""
        return any(each.verdict in {Verdict.DROPPED, Verdict.REFUSED} for each in self.findings)


def report_clients(offer: Offer, clients: Iterable[str], window: int | None) -> list[ClientReport]:
    """Return what each of the clients does. `window` is the context window of the model, in tokens."""
    known: Mapping[str, Sequence[Callable[[Offer, int | None], ClientReport]]] = {
        limits.CLAUDE_CODE: (_claude_over_mcp, _claude_plugin),
        limits.CODEX: (_codex_folder, _codex_app),
        limits.CHATGPT: (_chatgpt,),
        limits.VSCODE: (_vscode,),
        limits.SKILLWIRE: (_others,),
    }
    return [report(offer, window) for client in clients for report in known[client]]


# Claude Code


def _claude_over_mcp(offer: Offer, _window: int | None) -> ClientReport:
    limit, per_tool = limits.INSTRUCTIONS, limits.TOOL_DESCRIPTION
    notes = [
        f"It keeps {limit.value:,} of the {len(offer.instructions):,} characters of the instructions."
        if len(offer.instructions) > limit.value
        else f"The instructions have {len(offer.instructions):,} characters; {limit.value:,} fit."
    ]
    notes += [
        f"It cuts the description of the tool `{name}` at {per_tool.value:,} characters."
        for name, text in offer.tools.items()
        if len(text) > per_tool.value
    ]
    found = _findings(seen_in(offer.instructions, offer, limit.value), f"cut at {limit.value:,} characters")
    return ClientReport(
        limits.CLAUDE_CODE,
        "connected over MCP",
        len(offer.for_models),
        found,
        (limit, per_tool),
        tuple(notes),
    )


def _claude_plugin(offer: Offer, window: int | None) -> ClientReport:
    """Every name is listed. Descriptions that do not fit are dropped, those of rarely used skills first."""
    budget = (window or limits.CLAUDE_WINDOW.value) * CHARACTERS_PER_TOKEN * limits.LIST_SHARE.value // 100
    most = limits.LISTED_DESCRIPTION.value
    skills = [each for each in offer.every if not each.manual]
    left = budget - sum(len(f"- {skill.name}\n") for skill in skills)
    found: list[Finding] = []
    for skill in skills:
        name, text = skill.handle, f"{skill.description} {skill.when_to_use}".strip()
        cost = len(": ") + min(len(text), most) if text else 0
        if cost > left:
            reason = f"only the name fits into the list of {budget:,} characters"
            found.append(Finding(name, Verdict.SHORTENED, reason))
            continue
        left -= cost
        if len(text) > most:
            found.append(Finding(name, Verdict.SHORTENED, f"description cut at {most:,} characters"))
    return ClientReport(
        limits.CLAUDE_CODE,
        "installed as a plugin",
        len(skills),
        tuple(found),
        (limits.LIST_SHARE, limits.LISTED_DESCRIPTION, limits.CLAUDE_WINDOW),
        (
            f"Its list of skills has {budget:,} characters for all plugins.",
            "Descriptions of rarely used skills are dropped first; here, the last ones.",
        ),
    )


# Codex


def _codex_folder(offer: Offer, window: int | None) -> ClientReport:
    found: dict[str, Finding] = {}
    listed: list[OfferedSkill] = []
    for skill in sorted(offer.every, key=lambda each: (each.name, each.uri)):
        if (reason := _codex_refusal(skill)) is not None:
            found[skill.handle] = Finding(skill.handle, Verdict.REFUSED, reason)
        elif not skill.manual:
            listed.append(skill)
    refused = len(found)
    budget = _CodexBudget.of(window)
    found |= budget.share(listed)
    return ClientReport(
        limits.CODEX,
        "installed as a plugin or folder",
        len(listed) + refused,
        _in_order(found, offer.every),
        (budget.limit, limits.CODEX_NAME, limits.CODEX_DESCRIPTION),
        (f"Its list of skills has {budget}. Paths are counted at their shortest.",),
    )


@dataclass(frozen=True, slots=True)
class _CodexBudget:
    """How long the list of skills may be."""

    size: int
    limit: Limit

    @classmethod
    def of(cls, window: int | None) -> "_CodexBudget":
        if window is None:
            return cls(limits.CODEX_LIST.value, limits.CODEX_LIST)
        return cls(max(window * limits.CODEX_SHARE.value // 100, 1), limits.CODEX_SHARE)

    def __str__(self) -> str:
        return f"{self.size:,} {'characters' if self.limit is limits.CODEX_LIST else 'tokens'}"

    def share(self, skills: Sequence[OfferedSkill]) -> dict[str, Finding]:
        """Return the skills that are not listed whole, by the name to load them.

        Descriptions are shortened evenly until the list fits. If the names alone are too long, skills go.
        """
        longest = max((len(each.description) for each in skills), default=0)
        if self._total(skills, longest) <= self.size:
            return {}
        if self._total(skills, 0) > self.size:
            return self._names_only(skills)
        kept, too_many = 0, longest
        while too_many - kept > 1:
            middle = (kept + too_many) // 2
            if self._total(skills, middle) <= self.size:
                kept = middle
            else:
                too_many = middle
        reason = f"description cut at about {kept:,} characters, to share {self}"
        lengths = self._share_rest(skills, kept)
        return {
            each.handle: Finding(each.handle, Verdict.SHORTENED, reason)
            for each, length in zip(skills, lengths, strict=True)
            if length < len(each.description)
        }

    def _share_rest(self, skills: Sequence[OfferedSkill], kept: int) -> list[int]:
        """Return the length of each description if what is left is given out character by character.

        All descriptions have `kept` characters, and not all of them can have one more.
        """
        lengths = [min(kept, len(each.description)) for each in skills]
        left = self.size - self._total(skills, kept)
        changed = True
        while changed:
            changed = False
            for at, each in enumerate(skills):
                if lengths[at] == len(each.description):
                    continue
                cost = self._cost(each, lengths[at] + 1) - self._cost(each, lengths[at])
                if cost <= left:
                    left -= cost
                    lengths[at] += 1
                    changed = True
        return lengths

    def _names_only(self, skills: Sequence[OfferedSkill]) -> dict[str, Finding]:
        left = self.size
        found: dict[str, Finding] = {}
        for each in skills:
            verdict, reason = Verdict.SHORTENED, f"only the name fits into the list of {self}"
            if (cost := self._cost(each, 0)) <= left:
                left -= cost
            else:
                verdict, reason = Verdict.DROPPED, f"the list of {self} is full"
            found[each.handle] = Finding(each.handle, verdict, reason)
        return found

    def _total(self, skills: Iterable[OfferedSkill], most: int) -> int:
        return sum(self._cost(each, most) for each in skills)

    def _cost(self, skill: OfferedSkill, most: int) -> int:
        """Return what a line costs if the description is cut at `most` characters."""
        line = _codex_line(skill.name, skill.description[:most]) + "\n"
        if self.limit is limits.CODEX_LIST:
            return len(line)
        return -(-len(line.encode(errors="replace")) // CHARACTERS_PER_TOKEN)


def _codex_refusal(skill: OfferedSkill) -> str | None:
    if len(skill.name) > limits.CODEX_NAME.value:
        return f"the name has more than {limits.CODEX_NAME.value} characters"
    if not skill.description:
        return "there is no description"
    if len(skill.description) > limits.CODEX_DESCRIPTION.value:
        return f"the description has more than {limits.CODEX_DESCRIPTION.value:,} characters"
    return None


def _codex_app(offer: Offer, _window: int | None) -> ClientReport:
    """The first 100 skills are read. Of these, lines that do not fit whole are left out."""
    most, budget = limits.CODEX_VISIBLE.value, limits.CODEX_VISIBLE_LIST.value
    found: list[Finding] = []
    used = 0
    for number, skill in enumerate(offer.listed, 1):
        name = skill.handle
        if number > most:
            found.append(Finding(name, Verdict.DROPPED, f"only the first {most} skills are read"))
            continue
        line = _codex_line(skill.name, skill.description, skill.uri)
        if used + len(line) > budget:
            reason = f"its line does not fit into {budget:,} characters"
            found.append(Finding(name, Verdict.DROPPED, reason))
            continue
        used += len(line)
    return ClientReport(
        limits.CODEX,
        "skills of a connected app",
        len(offer.every),
        _in_order({each.name: each for each in (*found, *_not_listed(offer))}, offer.every),
        (limits.CODEX_VISIBLE, limits.CODEX_VISIBLE_LIST),
    )


def _codex_line(name: str, described: str, path: str = "") -> str:
    path = path or f"r0/{name}/{SKILL_FILE}"
    return f"- {name}: {described} (file: {path})" if described else f"- {name}: (file: {path})"


# ChatGPT


def _chatgpt(offer: Offer, _window: int | None) -> ClientReport:
    """All skills are imported, or none."""
    most = limits.CHATGPT_SKILLS.value
    names = Counter(each.name for each in offer.listed)
    faults = {
        each.uri: fault
        for each in offer.listed
        if (fault := _import_fault(each, names[each.name])) is not None
    }
    others = None
    if len(offer.listed) > most:
        others = f"an import takes at most {most} skills, or none of them"
    elif faults:
        others = "another skill makes the whole import fail"
    found = [
        Finding(each.handle, Verdict.REFUSED, reason)
        for each in offer.listed
        if (reason := faults.get(each.uri, others)) is not None
    ]
    return ClientReport(
        limits.CHATGPT,
        "imported into a plugin",
        len(offer.every),
        (*found, *_not_listed(offer)),
        (
            limits.CHATGPT_SKILLS,
            limits.CHATGPT_FILES,
            limits.CHATGPT_MAIN,
            limits.CHATGPT_FILE,
            limits.CHATGPT_BYTES,
        ),
        ("The import is a snapshot. After a change, import and submit the plugin again.",),
    )


def _import_fault(skill: OfferedSkill, sharing: int) -> str | None:
    """Return why a skill cannot be imported, or None. `sharing` skills have its name."""
    if (files := skill.files) is None:
        return "a live skill has no digests, so it cannot be imported"
    if sharing > 1:
        return "several skills have this name"
    if len(files) > limits.CHATGPT_FILES.value:
        return f"it has {len(files):,} files, the limit is {limits.CHATGPT_FILES.value}"
    for uri, size in files:
        limit = limits.CHATGPT_MAIN if uri == skill.uri else limits.CHATGPT_FILE
        if size > limit.value:
            return f"`{uri.rpartition('/')[2]}` has {size:,} bytes, the limit is {limit.value:,}"
    if (total := sum(size for _, size in files)) > limits.CHATGPT_BYTES.value:
        return f"its files have {total:,} bytes, the limit is {limits.CHATGPT_BYTES.value:,}"
    return None


# VS Code


def _vscode(offer: Offer, _window: int | None) -> ClientReport:
    most = limits.VSCODE_DESCRIPTION.value
    found: list[Finding] = []
    for skill in offer.every:
        shown, reason = _TAG.sub("", skill.description), ""
        if len(shown) > most:
            reason = f"description cut at {most:,} characters"
        elif shown != skill.description:
            reason = "text between `<` and `>` is removed from the description"
        elif len(skill.name) > limits.VSCODE_NAME.value:
            reason = f"name cut at {limits.VSCODE_NAME.value} characters"
        if reason:
            found.append(Finding(skill.handle, Verdict.SHORTENED, reason))
    return ClientReport(
        limits.VSCODE,
        "installed as a folder",
        len(offer.every),
        tuple(found),
        (limits.VSCODE_DESCRIPTION, limits.VSCODE_NAME),
        ("Over MCP, it gets the same list as any other client.",),
    )


# Any other client


def _others(offer: Offer, _window: int | None) -> ClientReport:
    """A client that keeps the instructions whole, and a strict client of the extension."""
    found = {each.name: each for each in _not_listed(offer)}
    for each in _findings(seen_in(offer.instructions, offer), "the list for models is full"):
        found.setdefault(each.name, each)
    names = [*offer.for_models, *(name for name in found if name not in offer.for_models)]
    return ClientReport(
        limits.SKILLWIRE,
        "list for models, and `skills/list`",
        len(names),
        tuple(found[name] for name in names if name in found),
        notes=(f"The list for models has {len(offer.instructions):,} characters (`--catalog-tokens`).",),
    )


def _findings(seen: Mapping[str, Seen], reason: str) -> tuple[Finding, ...]:
    return tuple(
        Finding(name, Verdict.SHORTENED if each.name else Verdict.DROPPED, reason)
        for name, each in seen.items()
        if not (each.name and each.whole)
    )


def _not_listed(offer: Offer) -> list[Finding]:
    """Return the skills that `skills/list` leaves out, because strict clients would refuse the whole list."""
    listed = {each.uri for each in offer.listed}
    reason = "not in `skills/list`, because strict clients would refuse the whole list"
    return [Finding(each.handle, Verdict.REFUSED, reason) for each in offer.every if each.uri not in listed]


def _in_order(found: Mapping[str, Finding], skills: Iterable[OfferedSkill]) -> tuple[Finding, ...]:
    return tuple(found[each.handle] for each in skills if each.handle in found)
