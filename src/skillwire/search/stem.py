"""The Porter2 stemmer for English words (Snowball), written for speed.

The algorithm: https://snowballstem.org/algorithms/english/stemmer.html. The tests compare it with the package
`snowballstemmer`.
"""

import re

_VOWELS = frozenset("aeiouy")
_LONG_ENDINGS = frozenset("aeiouywxY")
"""The letters after which a syllable is not short."""
_V, _C = "[aeiouy]", "[^aeiouy]"
_SYLLABLE = f"{_C}*{_V}+{_C}"
_REGIONS = re.compile(
    f"(arsen|commun|emerg|gener|inter|later|organ|past|univers|{_SYLLABLE})({_SYLLABLE})?", re.DOTALL
)
"""The parts of a word before its regions R1 and R2."""
_VOWEL = re.compile(_V)
_CONSONANT_Y = re.compile(f"({_V})y")
_EXCEPTIONS = {
    **{word: word for word in ("andes", "atlas", "bias", "cosmos", "howe", "news", "sky")},
    "early": "earli",
    "gently": "gentl",
    "idly": "idl",
    "only": "onli",
    "singly": "singl",
    "skies": "sky",
    "skis": "ski",
    "ugly": "ugli",
}
_NOT_EED = frozenset({"succ", "proc", "exc"})
_NOT_ING = frozenset({"even", "cann", "inn", "earr", "herr", "out"})
_DOUBLES = tuple(2 * letter for letter in "bdfgmnprt")
_BEFORE_LI = tuple("cdeghkmnrt")
_SUFFIXES = "al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize ion"

_STEP_2 = {
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "abli": "able",
    "entli": "ent",
    "izer": "ize",
    "ization": "ize",
    "ational": "ate",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "aliti": "al",
    "alli": "al",
    "fulness": "ful",
    "fulli": "ful",
    "ousli": "ous",
    "ousness": "ous",
    "iveness": "ive",
    "iviti": "ive",
    "biliti": "ble",
    "bli": "ble",
    "ogist": "og",
    "ogi": "og",
    "lessli": "less",
    "li": "",
}
_STEP_3 = {
    "tional": "tion",
    "ational": "ate",
    "alize": "al",
    "icate": "ic",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
    "ative": "",
}
_STEP_4 = frozenset(_SUFFIXES.split())
_IN_STEP_2, _IN_STEP_3, _IN_STEP_4 = tuple(_STEP_2), tuple(_STEP_3), tuple(_STEP_4)


def stem(word: str) -> str:
    """Return the stem of a word of lower-case letters. Words of other languages are mostly unchanged."""
    if len(word) < 3:
        return word
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    has_y = "y" in word
    if has_y:  # an upper-case letter stands for a consonant
        word = _CONSONANT_Y.sub(r"\1Y", "Y" + word[1:] if word[0] == "y" else word)
    regions = _REGIONS.match(word)
    if regions is None:
        r1 = r2 = len(word)
    else:
        r1, r2 = regions.span(1)[1], regions.span(2)[1]
        if r2 < 0:
            r2 = len(word)
    if word[-1] in "sd":
        word = _without_plural(word)
    if word.endswith(("ed", "ing", "edly", "ingly")):
        word = _without_tense(word, r1)
    if has_y and len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    if len(word) > r1:  # every later ending must be in R1
        word = _without_suffixes(word, r1, r2)
    return word.replace("Y", "y") if has_y else word


def _without_plural(word: str) -> str:
    """Return a word without the ending of a plural (step 1a)."""
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ies", "ied")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word[-1] == "s" and word[-2] not in "su" and _VOWEL.search(word, 0, len(word) - 2):
        return word[:-1]
    return word


def _without_tense(word: str, r1: int) -> str:
    """Return a word without `ed`, `ing` and their adverbs (step 1b)."""
    if word.endswith(("eed", "eedly")):
        rest = word[: -3 if word[-1] == "d" else -5]
        return rest + "ee" if len(rest) >= r1 and rest not in _NOT_EED else word
    if word.endswith("ing"):
        rest = word[:-3]
        if len(rest) == 2 and rest[1] == "y" and rest[0] not in _VOWELS:
            return rest[0] + "ie"
    else:
        rest = word[:-2] if word[-1] == "d" else word[:-4] if word[-4] == "e" else word[:-5]
    if _VOWEL.search(rest) is None or (word[-1] == "g" and rest in _NOT_ING):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest.endswith(_DOUBLES):
        return rest if len(rest) == 3 and rest[0] in "aeo" else rest[:-1]
    return rest + "e" if len(rest) == r1 and _is_short(rest) else rest


def _without_suffixes(word: str, r1: int, r2: int) -> str:
    """Return a word without the endings of steps 2 to 5."""
    if word.endswith(_IN_STEP_2):
        suffix = _longest(word, _STEP_2, 7)
        start = len(word) - len(suffix)
        if start >= r1 and (
            (suffix != "ogi" or word[start - 1] == "l")
            and (suffix != "li" or word.endswith(_BEFORE_LI, 0, start))
        ):
            word = word[:start] + _STEP_2[suffix]
    if word.endswith(_IN_STEP_3):
        suffix = _longest(word, _STEP_3, 7)
        start = len(word) - len(suffix)
        if start >= (r2 if suffix == "ative" else r1):
            word = word[:start] + _STEP_3[suffix]
    if len(word) > r2 and word.endswith(_IN_STEP_4):
        suffix = _longest(word, _STEP_4, 5)
        start = len(word) - len(suffix)
        if start >= r2 and (suffix != "ion" or word.endswith(("s", "t"), 0, start)):
            word = word[:start]
    last = len(word) - 1
    if word[-1] == "e":
        if last >= r2 or (last >= r1 and not _is_short(word[:-1])):
            word = word[:-1]
    elif word[-1] == "l" and last >= r2 and word.endswith("ll"):
        word = word[:-1]
    return word


def _longest(word: str, suffixes: "dict[str, str] | frozenset[str]", most: int) -> str:
    """Return the longest of the suffixes that a word has. It has one."""
    return next(word[-length:] for length in range(most, 1, -1) if word[-length:] in suffixes)


def _is_short(word: str) -> bool:
    """Return whether a word ends in a short syllable."""
    if len(word) > 2:
        return (
            word[-1] not in _LONG_ENDINGS and word[-2] in _VOWELS and word[-3] not in _VOWELS
        ) or word.endswith("past")
    return len(word) == 2 and word[1] not in _VOWELS and word[0] in _VOWELS
