"""A sentence read as a claim: of what, which predicate, what of it, denied or not. By tables alone, without a model."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from memories.language.predicates import ALIASES, PREDICATES, Takes
from memories.language.quantities import Quantity, read_quantity

MAX_SENTENCES = 6  # of each text
MAX_WORDS = 40  # of a sentence: a longer one says too much for a table
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_EDGES: Final = "\"'`“”‘’()[]{}<>,;!*…"
_LABELS: Final = frozenset(
    ["note", "decision", "fact", "preference", "remember", "update", "updated", "important", "correction"]
)
_PRONOUNS: Final = frozenset(["it", "they", "this", "that", "he", "she", "these", "those", "there"])
_ARTICLES: Final = frozenset(["a", "an", "the", "its", "their", "his", "her"])
_FILLERS: Final = frozenset(
    [
        "now",
        "currently",
        "actually",
        "really",
        "just",
        "always",
        "again",
        "still",
        "already",
        "today",
        "nowadays",
        "please",
        "instead",
        "simply",
        "very",
        "anymore",
        "usually",
        "generally",
        "strictly",
        "definitely",
        "clearly",
        "indeed",
    ]
)
# Said of some, or only perhaps, or at some time: two such claims can both hold.
_VAGUE: Final = frozenset(
    [
        "some",
        "many",
        "several",
        "few",
        "another",
        "most",
        "sometimes",
        "often",
        "might",
        "maybe",
        "perhaps",
        "could",
        "would",
        "considering",
        "plan",
        "planned",
        "propose",
        "proposed",
        "consider",
        "think",
        "wonder",
        "if",
        "unless",
        "whether",
        "rarely",
        "occasionally",
        "either",
        "e.g",
        "like-to",
    ]
)
_ADDING: Final = frozenset(
    [
        "also",
        "too",
        "additionally",
        "another",
        "besides",
        "well",
        "or",
        "and/or",
        "among",
        "including",
        "e.g",
        "etc",
    ]
)
_PAST: Final = frozenset(
    [
        "formerly",
        "previously",
        "once",
        "ago",
        "former",
        "last",
        "yesterday",
        "was",
        "were",
        "had",
        "until",
        "earlier",
    ]
)
_FUTURE: Final = frozenset(["will", "tomorrow", "next", "going", "soon"])
_SHORT: Final = {
    "won't": "will not", "can't": "can not", "cannot": "can not", "shan't": "shall not", "i'm": "i is",
    "it's": "it is", "that's": "that is", "he's": "he is", "she's": "she is", "there's": "there is",
    "are": "is", "am": "is", "were": "was", "never": "not", "be": "be", "=": "is", "==": "is", "→": "is",
    "dislike": "not like", "dislikes": "not like", "hate": "not like", "hates": "not like", "loves": "like",
    "love": "like", "enjoys": "like", "enjoy": "like", "adores": "like", "prefers": "prefer", "no": "not",
    "detests": "not like", "lacks": "not has", "forbids": "not allow", "has": "has", "have": "has", "avoid": "not use",
    "avoids": "not use", "does": "do", "did": "do", "refuses": "not accept", "unlike": "unlike",
}  # fmt: skip
_PHRASES: Final = tuple(
    (re.compile(rf"\b{pattern}\b", re.I), instead)
    for pattern, instead in (
        (r"no longer|not any longer|not any more|not anymore", "not"),
        (r"(?:has |have )?(?:stopped|quit|ceased|gave up) (?:using|to use)", "not use"),
        (r"(?:has |have )?(?:stopped|quit|ceased) liking", "not like"),
        (r"used to be", "was formerly"),
        (r"used to", "formerly"),
        (r"(?:has|have|need|needs) to", "must"),
        (r"can(?:'t|not| not) stand", "not like"),
        (r"(?:is|are) (?:not able|unable) to", "can not"),
        (r"(?:is|are) able to", "can"),
        (
            r"(?:has been|was|were|is|got) (?:changed|raised|lowered|increased|reduced|moved|updated|set|switched) to",
            "is",
        ),
        (r"(?:has|have) been", "is"),
        (r"as well|for now|from now on|at the moment|as of now|these days|any more|any longer", ""),
        (r"github actions", "github-action"),
        (r"gitlab ci", "gitlab-ci"),
        (r"vs code|visual studio code", "vscode"),
        (r"phone calls?", "phone"),
        (r"do not|don't|does not|doesn't|did not|didn't", "not"),
    )
)
_PREDICATE_BEGINS: Final = frozenset(wording[0] for wording in PREDICATES)
_OF: Final = frozenset({"of", "for"})


@dataclass(frozen=True)
class Word:
    """A word as it is compared, and as it was written; a number or date with its measure is one word."""

    norm: str
    raw: str
    quantity: Quantity | None = None


@dataclass(frozen=True)
class Claim:
    """A sentence taken apart. `name` is the predicate's; empty where the tables know none and `subject` holds all."""

    subject: tuple[Word, ...]
    name: str
    takes: Takes
    object: tuple[Word, ...]
    is_denied: bool
    time: str  # past, future or present
    marks: frozenset[str]  # adding, vague

    @property
    def words(self) -> tuple[str, ...]:
        """All that is said, but for the denial."""
        return (*(w.norm for w in self.subject), self.name, *(w.norm for w in self.object))

    @property
    def about(self) -> tuple[str, ...]:
        """The subject's words in a fixed order, so that "port of the API" and "API port" are one."""
        return tuple(sorted(w.norm for w in self.subject if w.norm not in _OF))


@lru_cache(maxsize=32)  # a new text is compared with several; nothing is kept for longer than the next stores
def read_claims(text: str) -> tuple[Claim, ...]:
    """Give the claims of a text, one for each of its first sentences that is short and no question."""
    sentences = [part for part in _SENTENCE_END.split(text[:4_000]) if part.strip()][:MAX_SENTENCES]
    claims = []
    for number, sentence in enumerate(sentences):
        words = [] if sentence.rstrip().endswith("?") or "|" in sentence else _read(sentence)
        refers_back = number > 0 and words and words[0].norm in _PRONOUNS
        if 1 < len(words) <= MAX_WORDS and not refers_back:
            claims.append(_parse(words))
    return tuple(claims)


def _read(sentence: str) -> list[Word]:
    """Give the words as they are compared: short forms written out, articles and fillers left out, verbs without their s."""
    for pattern, instead in _PHRASES:
        sentence = pattern.sub(instead, sentence)
    words: list[Word] = []
    for raw in _with_colon(sentence.split()):
        words += _plain(raw)
    kept = [w for at, w in enumerate(words) if w.raw.casefold() not in _FILLERS and not _is_article(w, at)]
    return _measured(kept)


def _is_article(word: Word, at: int) -> bool:
    """Say whether a word is an article; the A of "Service A" is none."""
    return word.norm in _ARTICLES and (at == 0 or word.raw != "A")


def _with_colon(raws: list[str]) -> list[str]:
    """Read "timeout: 30 s" as "timeout is 30 s", and leave out a label as in "Decision: …"."""
    for at, raw in enumerate(raws[:5]):
        if raw.endswith(":"):
            if raw[:-1].strip(_EDGES).casefold() in _LABELS:
                return raws[at + 1 :]
            is_said = any(w.casefold() in ("is", "are", "use", "uses") for w in raws)
            return raws if is_said else [*raws[:at], raw[:-1], "is", *raws[at + 1 :]]
    return raws


def _plain(raw: str) -> list[Word]:
    bare = raw.strip(_EDGES).rstrip(".:?").replace("’", "'")
    if not bare:
        return []
    low = bare.casefold()
    bare += "," * raw.endswith(",")  # what stands in a list shall be seen to
    if low in _SHORT:
        return [Word(part, bare) for part in _SHORT[low].split()]
    if "'" not in low:
        return [Word(_stem(low), bare)]
    if low.endswith("n't"):
        return [Word(_SHORT.get(low[:-3], low[:-3]), bare), Word("not", bare)]
    for ending in ("'s", "s'", "'re", "'ve", "'ll"):
        if low.endswith(ending):
            rest = low[: -len(ending)] + ("s" if ending == "s'" else "")
            return [Word(_stem(rest), bare)]
    return [Word(_stem(low), bare)]


def _stem(word: str) -> str:
    """Take the s of a plural or of the third person away, so that "uses" and "use" are one word."""
    if not word[-1:].isalpha() or len(word) < 4:
        return ALIASES.get(word, word)
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return ALIASES.get(word, word)


def _measured(words: list[Word]) -> list[Word]:
    """Join a number with its unit, and the parts of a date, into one word each."""
    done: list[Word] = []
    at = 0
    while at < len(words):
        found = read_quantity([w.raw for w in words[at : at + 4]])
        if found is None:
            done.append(words[at])
            at += 1
            continue
        raw = " ".join(w.raw for w in words[at : at + found.words])
        done.append(Word(found.norm, raw, found))
        at += found.words
    return done


def _parse(words: list[Word]) -> Claim:
    norms = [w.norm for w in words]
    marks = frozenset(mark for mark, signs in (("vague", _VAGUE), ("adding", _ADDING)) if signs & set(norms))
    is_denied = norms.count("not") % 2 == 1
    time = "past" if _PAST & set(norms) else "future" if _FUTURE & set(norms) else "present"
    kept = [w for w in words if w.norm not in ("not", "do", "formerly")]
    found = _find_predicate([w.norm for w in kept])
    if found is None:
        return Claim(tuple(kept), "", Takes.MANY, (), is_denied, time, marks)
    start, length, name, takes = found
    claim = Claim(tuple(kept[:start]), name, takes, tuple(kept[start + length :]), is_denied, time, marks)
    return replace(claim, time="present") if name.startswith("was ") else claim


def _find_predicate(norms: list[str]) -> tuple[int, int, str, Takes] | None:
    """Give where the first known predicate stands, how many words it has, its name, and how many objects it takes."""
    for start, norm in enumerate(norms):
        if norm not in _PREDICATE_BEGINS:
            continue
        for length in (4, 3, 2, 1):
            found = PREDICATES.get(tuple(norms[start : start + length]))
            if found is not None and len(norms[start : start + length]) == length:
                return start, length, *found
    return None
