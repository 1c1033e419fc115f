"""Generated skills with realistic texts, and queries for them. The same seed has the same bytes everywhere.

Words are made of syllables, and follow Zipf's law. A third of a text are English function words. Each skill
has a subject, whose words are much more frequent in it, and a few names of its own.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

_SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
_ENDINGS = ("", "", "", "s", "ing", "ed", "tion", "er")
_FUNCTION_WORDS = ("the", "a", "of", "to", "and", "in", "is", "for", "with", "on", "it", "when", "if", "from")
_VOCABULARY = 12_000
_SUBJECTS = 500
_SUBJECT_WORDS = 60
_SENTENCES = 300
"""Number of sentences of each subject, and a hundredth of those that every subject uses."""
_GROUP = 100
"""Number of skills in one folder."""


@dataclass(frozen=True, slots=True)
class GeneratedSkill:
    """One skill."""

    path: str
    description: str
    body: str

    @property
    def uri(self) -> str:
        return f"skill://{self.path}/SKILL.md"

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def text(self) -> str:
        return f"---\nname: {self.name}\ndescription: {self.description}\n---\n{self.body}"


class Language:
    """The words and sentences of which skills and queries are made."""

    def __init__(self, seed: int = 1) -> None:
        self._random = made = random.Random(seed)
        words = dict[str, None]()
        while len(words) < _VOCABULARY:
            stem = "".join(made.choices(_SYLLABLES, k=made.choice((2, 2, 3, 3, 4))))
            words[stem + made.choice(_ENDINGS)] = None
        self._words = list(words)
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(_VOCABULARY)))
        self.subjects = [made.choices(self._words, k=_SUBJECT_WORDS) for _ in range(_SUBJECTS)]
        self._of_subjects = [[self.sentence(made, each) for _ in range(_SENTENCES)] for each in self.subjects]
        self._general = [self.sentence(made, ()) for _ in range(_SENTENCES * 100)]

    def sentence(self, made: random.Random, subject: Sequence[str]) -> str:
        """Return a new sentence of 8 to 20 words."""
        found: list[str] = []
        common = made.choices(self._words, cum_weights=self._weights, k=20)
        for at in range(made.randint(8, 20)):
            chance = made.random()
            if chance < 0.35:
                found.append(made.choice(_FUNCTION_WORDS))
            elif chance < 0.55 and subject:
                found.append(subject[int(made.random() ** 2 * len(subject))])
            else:
                found.append(common[at])
        return f"{' '.join(found).capitalize()}."

    def skill(self, number: int, revision: int = 0) -> GeneratedSkill:
        """Return a skill of which 2 to 7 KB are text."""
        made = random.Random(f"{number} {revision}")
        which = made.randrange(_SUBJECTS)
        subject, known = self.subjects[which], self._of_subjects[which]
        own = [f"{word}{made.randrange(1_000)}" for word in made.choices(self._words, k=8)]
        name = f"{made.choice(subject)}-{made.choice(subject)}-{number:06}"
        description = f"{made.choice(known)} Use when {made.choice(known).lower()}"
        wanted, lines = made.randint(2_000, 7_000), [f"\n# {' '.join(made.choices(subject, k=3)).title()}\n"]
        length = 0
        while length < wanted:
            chance = made.random()
            if chance < 0.08:
                line = f"\n## {' '.join(made.choices(subject, k=2)).capitalize()}\n"
            elif chance < 0.2:
                line = f"- `{made.choice(own)}`: {made.choice(known)}"
            elif chance < 0.6:
                line = made.choice(known)
            else:
                line = made.choice(self._general)
            lines.append(line)
            length += len(line) + 1
        return GeneratedSkill(f"team-{number // _GROUP:04}/{name}", description, "\n".join(lines) + "\n")

    def query(self, number: int, words: int) -> str:
        """Return a query of so many words. No skill contains it as a whole."""
        made = random.Random(f"query {number} {words}")
        subject = made.choice(self.subjects)
        if words <= 2:
            return " ".join(
                [made.choice(subject), *made.choices(self._words, cum_weights=self._weights)][:words]
            )
        found: list[str] = []
        while len(found) < words:
            found.extend(self.sentence(made, subject).split())
        return " ".join(found[:words])

    def long_query(self, number: int, characters: int) -> str:
        """Return a query of so many characters: a description of a task."""
        return self.query(number, characters // 4)[:characters]


def write_skills(language: Language, root: Path, size: int) -> None:
    """Write skills into the new folder `root`."""
    for number in range(size):
        write_skill(root, language.skill(number))


def write_skill(root: Path, skill: GeneratedSkill) -> None:
    folder = root / skill.path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(skill.text, encoding="ascii")


def skills(language: Language, size: int) -> Iterator[GeneratedSkill]:
    """Yield the skills of a folder."""
    return (language.skill(number) for number in range(size))
