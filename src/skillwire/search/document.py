"""What is indexed of a skill: weighted terms of its fields, and the words that spelling is corrected to.

The weight of a term combines all fields (BM25F). Each field is compared with a fixed usual length, not with
the average of the other skills. So a weight depends on one skill alone, and the index of a changed library
equals a new index.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from itertools import islice
from urllib.parse import unquote

from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Json, LiveFile, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.search.text import LIGHT_WORDS, is_unspaced, term_of_word, words

MAX_BODY = 16_000
"""Maximum number of characters of the text of a `SKILL.md` that are indexed. Later headings are, too."""
MAX_WEIGHT = 65_535
"""The weight of a term that occurs infinitely often. A weight is an integer from 1 to this number."""
_SATURATION = 4.0
"""How slowly the weight of a term grows with its occurrences (k1 of BM25)."""
_MAX_VALUES = 4_000
"""Maximum number of characters of all metadata values, and of all file names, that are indexed."""
_MAX_DEPTH = 8
"""Maximum depth of metadata values that are indexed."""
HEADING = re.compile(r"\n##{0,5}[ \t]+(.+)")
MAX_HEADINGS = 4_000
"""Maximum number of characters of all headings that are indexed."""
_MAX_TERMS = 2_000
"""Maximum number of terms of one skill. The fields with the least weight lose their terms first."""
_MAX_CORRECTABLE = 50_000
"""Maximum number of words for which it is kept whether spelling is corrected to them."""
_FRONTMATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n.*?\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_UNINDEXED_KEYS = frozenset({"name", "description", "when_to_use", "license", "allowed-tools", "model"})


@dataclass(frozen=True, slots=True)
class Field:
    """How one part of a skill counts."""

    name: str
    weight: float
    usual_length: int
    """The usual number of terms. In longer texts, each occurrence counts less."""
    length_matters: float
    """How much the length counts, from 0 to 1 (b of BM25)."""
    is_short: bool = True
    """Whether spelling is corrected to words of this field."""


NAME = Field("name", 3, 3, 0.3)
PATH = Field("path", 0.5, 4, 0.3)
DESCRIPTION = Field("description", 3, 40, 0.3)
METADATA = Field("metadata", 1, 8, 0.3)
HEADINGS = Field("headings", 0.5, 75, 0.6)
BODY = Field("text", 0.5, 850, 0.9, is_short=False)
FILES = Field("files", 0.5, 10, 0.5, is_short=False)


@dataclass(frozen=True, slots=True)
class Document:
    """What the index knows about one skill or template."""

    fields: Mapping[str, int]
    """The weight of each term of a field. A term that begins with `=` is a whole name or path."""
    vocabulary: frozenset[str]
    """The words of short fields, to which spelling is corrected."""
    body: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of occurrences of each term that only the body contains."""
    by_count: Sequence[int] = ()
    """The weight of a term in `body` by the number of its occurrences."""

    @property
    def weights(self) -> Mapping[str, int]:
        """The weight of every term."""
        return {**self.fields, **{term: self.by_count[count] for term, count in self.body.items()}}


Searchable = SkillRecord | SkillTemplate
"""A skill, or a template that stands for many skills."""


def identity(entry: Searchable) -> bytes:
    """Return a key that differs whenever what is indexed of the entry differs.

    The digest of the `SKILL.md` covers its frontmatter and text. What else is indexed is hashed here.
    """
    if isinstance(entry, SkillTemplate):
        parts = [entry.path, entry.description, repr(sorted(entry.fields.items()))]
    else:
        main = entry.files[0]
        if isinstance(main, LiveFile) or not has_indexed_text(entry):
            content = repr(sorted(entry.frontmatter.items()))
        else:
            content = main.digest.text
        parts = [content, entry.shown_description, *(file.path for file in entry.files)]
        parts.append(str(entry.origin.foreign))
    return blake2b("\0".join([entry.uri, *parts]).encode(errors="replace"), digest_size=16).digest()


def has_indexed_text(entry: Searchable) -> bool:
    """Return whether the text of a skill is indexed, besides its entry.

    Text that is generated when it is read is not fetched for the index. The text of other operators' servers
    is not fetched before somebody asks for it (H11).
    """
    return isinstance(entry, SkillRecord) and not entry.dynamic and not entry.origin.foreign


def make_document(entry: Searchable, text: str = "") -> Document:
    """Return what is indexed of a skill or template. `text` is its `SKILL.md`."""
    values = _values_of(entry, text)
    body = words(values.pop(BODY))
    found = {part: words(value) for part, value in values.items() if value}
    terms, amounts, vocabulary = term_of_word(), dict[str, float](), set[str]()
    for each, split in found.items():
        share = _share(each, len(split))
        for word in split:
            if term := terms[word]:
                amounts[term] = amounts.get(term, 0.0) + share
        if each.is_short:
            vocabulary.update(split)
    counts = Counter(map(terms.__getitem__, body))
    del counts[""]
    share = _share(BODY, len(body))
    fields = {term: _weight(amount + share * counts.pop(term, 0)) for term, amount in amounts.items()}
    by_count = [_weight(share * count) for count in range(max(counts.values(), default=0) + 1)]
    vocabulary = set(filter(_correctable().__getitem__, vocabulary))
    if len(fields) + len(counts) > _MAX_TERMS:
        fields = dict(islice(fields.items(), _MAX_TERMS))
        counts = dict(islice(counts.items(), _MAX_TERMS - len(fields)))
        vocabulary = {word for word in vocabulary if terms[word] in fields}
    # A skill of another operator's server never comes before the user's own skill of that name (H10).
    is_own = isinstance(entry, SkillTemplate) or not entry.origin.foreign
    for parts in (found.get(NAME, []), found.get(PATH, [])):
        fields[_exact(parts)] = MAX_WEIGHT if is_own else MAX_WEIGHT // 2
    return Document(fields, frozenset(vocabulary), counts, by_count)


def body_of(text: str) -> str:
    """Return a `SKILL.md` without its frontmatter."""
    return text[match.end() :] if (match := _FRONTMATTER.match(text)) is not None else text


def exact_term(name: str) -> str:
    """Return the term for a whole name or path. It is the same for names that differ in case, `_` or `-`."""
    return _exact(words(name))


def _exact(parts: Sequence[str]) -> str:
    return "=" + "-".join(parts)


def matched_fields(entry: Searchable, text: str, searched: Iterable[str]) -> list[str]:
    """Return the names of the fields in which a term of the query occurs, the most important first."""
    wanted, terms, found = set(searched), term_of_word(), list[str]()
    for part, value in _values_of(entry, text).items():
        if part is not PATH and not wanted.isdisjoint(map(terms.__getitem__, words(value))):
            found.append(part.name)
    return found


def _values_of(entry: Searchable, text: str) -> dict[Field, str]:
    """Return the indexed text of each field."""
    if isinstance(entry, SkillTemplate):
        fields, path, described = entry.fields, entry.path, entry.description
        name, files = path.rpartition("/")[2], ""
    else:
        fields, path, described = entry.frontmatter, unquote(entry.path), entry.shown_description
        name = entry.name
        files = "\n".join(file.path for file in entry.files if file.path != SKILL_FILE)[:_MAX_VALUES]
    when = fields.get("when_to_use")
    about = {key: value for key, value in fields.items() if key not in _UNINDEXED_KEYS}
    body = body_of(text)
    return {
        NAME: name,
        PATH: path,
        DESCRIPTION: f"{described}\n{when if isinstance(when, str) else ''}",
        METADATA: "\n".join(_texts(about))[:_MAX_VALUES],
        FILES: files,
        HEADINGS: "\n".join(HEADING.findall(f"\n{body}"))[:MAX_HEADINGS],
        BODY: body[:MAX_BODY],
    }


def _texts(value: "Json | Mapping[str, Json]", depth: int = 0) -> Iterable[str]:
    """Yield the texts in a value of the frontmatter."""
    if isinstance(value, str):
        yield value
    elif depth < _MAX_DEPTH and isinstance(value, (Mapping, list)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each, depth + 1)


def _share(field: Field, length: int) -> float:
    """Return how much one occurrence counts in a field of so many words."""
    relative = length / field.usual_length
    return field.weight / (1 - field.length_matters + field.length_matters * relative)


def _weight(amount: float) -> int:
    return int(MAX_WEIGHT * amount / (_SATURATION + amount)) or 1


class _Correctable(dict[str, bool]):
    """Maps each word to whether spelling is corrected to it."""

    def __missing__(self, word: str) -> bool:
        if len(self) >= _MAX_CORRECTABLE:
            self.clear()
        known = term_of_word()[word] and word not in LIGHT_WORDS
        self[word] = found = bool(known) and len(word) >= 3 and word.isalpha() and not is_unspaced(word)
        return found


@cache
def _correctable() -> _Correctable:
    return _Correctable()
