"""Abstention: whether the best candidates answer the question at all. The weights are in memories.recall.weights."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import log, sqrt

from django.conf import settings
from django.utils import timezone

from memories.language.cleaning import without_marks
from memories.language.word_forms import DOT, ROOT_CHARS, SIGNS, contains_run, list_forms, root
from memories.models import Memory
from memories.recall.adjustments import SPEAKERS, elsewhere_adjustment, is_dated, speaker_of
from memories.recall.candidates import Candidate
from memories.recall.dates.stored import is_past_day, tells_of
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.trace import Trace
from memories.recall.weights import (
    ABOVE_FILLER,
    ABOVE_NEAREST,
    BEST_TURNS,
    CROWD,
    CROWD_CHARS,
    FACTS,
    FEW,
    JUDGED_CANDIDATES,
    LONG_TEXT_WORDS,
    MAX_LENGTH_DIFFERENCE,
    NAME_CHARS,
    NAME_SEARCH_CHARS,
    SPELLING_RATIO,
    TALK,
    TUNING,
    UNKNOWN,
    UNRELATED_MEAN,
    UNRELATED_SPREAD,
    AbstentionLimits,
)
from memories.search.base import RankingFields
from memories.search.identifiers import has_identifier
from memories.search.query_terms import Match, words
from memories.store.pieces import embedded_text

# Why a candidate is not in the answer, wherever that is shown.
NOTHING_RELEVANT = "nothing found is close enough to be an answer"
FILLER_REASON = "it shares no word with the question and is not close in meaning"
ROLES = frozenset().union(*SPEAKERS.values())  # "User:" is nobody's name
_WORD = re.compile(r"[^\W\d_][\w'’]{2,}")
_HAS_DIGIT_OR_PATH = re.compile(r"[\d/]")
_FOLLOWED = re.compile(r"(?:['’]s)? \w")
_GREETINGS = tuple(
    word + end
    for word in ("hey", "hi", "hello", "thanks", "you", "yes", "yeah", "no", "wow", "oh")
    for end in (" ", ", ")
)


@dataclass(frozen=True)
class Nearness:
    """How close the best candidates come to the question, term by term of AbstentionLimits."""

    nearest_cosine: float = 0.0
    shared_words: float = 0.0
    shared_by_first: float = 0.0
    level: float = 0.0
    unknown_names: float = 0.0
    others_lead: float = 0.0

    def reached(self, by: AbstentionLimits) -> float:
        """The weighted sum that is compared with `wanted`."""
        return (
            self.nearest_cosine
            + by.words * self.shared_words
            + by.first * self.shared_by_first
            + by.level * self.level
            + by.strangers * self.unknown_names
            + by.others * self.others_lead
        )


def is_answerable(question: Question, ranking: Ranking, best: Sequence[Memory], trace: Trace) -> bool:
    """Whether the best candidates come close to the question in meaning and words, or one has all of its words.

    All candidates together are what the group knows on the topic: a name in none of them is unknown there. Without
    vectors one shared word is enough. Only mode hybrid knows kinds of text, names and speakers.
    """
    if not best:
        trace.add("relevance", answerable=False, why="there are no candidates")
        return False
    if unknown := unknown_identifiers(question, ranking):
        trace.add("relevance", answerable=False, why=f"nothing has {', '.join(unknown)}")
        return False
    judged = best[:JUDGED_CANDIDATES]
    if question.is_time_alone and ranking.dated.all:
        trace.add("relevance", answerable=True, why="these are the memories of that time")
        return True
    if is_time_empty(question, ranking, judged):
        times = ", ".join(str(time) for time in question.dates)
        trace.add("relevance", answerable=False, why=f"nothing is stored of {times}")
        return False
    cosines = {key: c.vector for key, c in ranking.candidates.items() if c.vector}
    limits = choose_limits(ranking, [memory.key for memory in judged], vectors=len(cosines))
    wanted = small_store_limit(len(cosines)) if limits is FEW else limits.wanted
    nearness = measure_nearness(question, ranking, judged, cosines, limits)
    reached = nearness.reached(limits)
    if any(memory.key in cosines for memory in judged):
        has_all_words = nearness.shared_words == 1.0 and not nearness.others_lead
        answerable = reached >= wanted or has_all_words
    else:
        answerable = nearness.shared_words > 0
    # In a script that the model cannot read, fillers alone may reach the limit.
    answerable = answerable and not all(is_filler(memory.key, ranking, question) for memory in judged)
    numbers = {**vars(nearness), "reached": reached, "wanted": wanted}
    rounded = {name: round(number, 4) for name, number in numbers.items()}
    trace.add("relevance", answerable=answerable, kind=limits.kind, **rounded)
    return answerable


def is_time_empty(question: Question, ranking: Ranking, judged: Sequence[Memory]) -> bool:
    """Whether the question names a past day, or a time and nothing else, of which nothing is stored.

    A memory of another day may still tell of it. Without rows (modes for comparison) only a time alone is judged.
    """
    times, today = question.dates, timezone.localdate()
    if ranking.dated.all or not times or not (ranking.rows or question.is_time_alone):
        return False
    if not question.is_time_alone and not all(is_past_day(time, today) for time in times):
        return False
    return not any(tells_of(memory, times, today) for memory in judged)


def measure_nearness(
    question: Question,
    ranking: Ranking,
    judged: Sequence[Memory],
    cosines: Mapping[int, float],
    limits: AbstentionLimits,
) -> Nearness:
    """The terms that `limits` weighs, for the judged memories; terms of weight 0 are not computed."""
    rows = ranking.rows
    shares = shared_word_shares(
        question.match, [_with_asked_date(memory, rows, question) for memory in judged]
    )
    # A filler shares nothing: five letters in common are no word of the question yet.
    shares = [
        0.0 if is_filler(memory.key, ranking, question) else share
        for memory, share in zip(judged, shares, strict=True)
    ]
    contents = (row.content for row in rows.values())
    return Nearness(
        nearest_cosine=max((cosines[memory.key] for memory in judged if memory.key in cosines), default=0.0),
        shared_words=max(shares),
        shared_by_first=shares[0],
        level=group_level(cosines.values()) if limits.level else 0.0,
        unknown_names=unknown_share(question.certain_names, contents) if limits.strangers else 0.0,
        others_lead=lead_of_others(question, ranking.scores, ranking.candidates, rows, ranking.group_key)
        if limits.others
        else 0.0,
    )


def _with_asked_date(memory: Memory, rows: Mapping[int, RankingFields], question: Question) -> str:
    """The content and tags, with its date in the words that the model reads if the question names that date."""
    content = " ".join([memory.content, *memory.tags])
    row = rows.get(memory.key)
    if (
        not question.dates
        or row is None
        or not is_dated(row, question.dates)
        or (moment := row.moment) is None
    ):
        return content
    return f"{embedded_text(content, moment)} {moment:%Y-%m-%d} {question.time_words}"


def unknown_identifiers(question: Question, ranking: Ranking) -> tuple[str, ...]:
    """The question's identifiers if no candidate has one of them in its text or tags; none otherwise.

    A name in code without a digit or a path is no proof: texts write it in other forms.
    """
    exact = tuple(i for i in question.identifiers if _HAS_DIGIT_OR_PATH.search(i))
    rows = ranking.rows.values()
    is_known = any(
        has_identifier(row.content, i) or has_identifier(row.tags, i) for i in exact for row in rows
    )
    return () if is_known or not rows else exact


# Limits by kind of text


def choose_limits(ranking: Ranking, judged: Sequence[int], *, vectors: int) -> AbstentionLimits:
    """The limits for the kind of text that most of the judged are, or those for few texts or unknown ones."""
    if vectors < crowd_size() and sum(len(row.content) for row in ranking.rows.values()) < CROWD_CHARS:
        return FEW
    if not ranking.rows:
        return UNKNOWN
    talk = sum(is_talk(ranking.candidates[key], ranking.rows[key].content) for key in judged)
    return TALK if talk * 2 >= len(judged) else FACTS


def is_talk(candidate: Candidate, content: str) -> bool:
    """Whether a text is long or a speaker's turn; a thread's text without a speaker may well be a fact."""
    return candidate.words > LONG_TEXT_WORDS or (candidate.is_turn and bool(speaker_of(content)))


def group_level(cosines: Iterable[float]) -> float:
    """The cosine of the last of a crowd: any text of the group comes so close, the closer the more there are."""
    nearest = sorted(cosines, reverse=True)[: crowd_size()]
    return nearest[-1] if nearest else 0.0


def crowd_size() -> int:
    """The number of candidates that make a crowd: no more than either search returns."""
    return min(CROWD, settings.LOCI.retrieval.candidates)


def small_store_limit(candidates: int) -> float:
    """The limit for the nearest of so few candidates: more than the nearest unrelated text reaches, at most that of FACTS.

    The expected greatest of n normal values lies about sqrt(2 ln n) spreads above their mean.
    """
    nearest = sqrt(2 * log(max(candidates, 2)))
    return min(UNRELATED_MEAN + UNRELATED_SPREAD * (nearest + ABOVE_NEAREST), FACTS.wanted)


# Fillers


def is_filler(key: int, ranking: Ranking, question: Question) -> bool:
    """Whether a candidate would only pad the answer; what proves a requested relation never does."""
    found = ranking.candidates[key]
    # A question that the model cannot read is close to anything.
    return key not in ranking.requested and is_padding(found.keyword, found.vector * question.readable)


def is_padding(keyword: float, cosine: float) -> bool:
    """Whether a text shares no word with the question and is no closer than unrelated texts are."""
    return not keyword and cosine < UNRELATED_MEAN + ABOVE_FILLER * UNRELATED_SPREAD


# Names and speakers


def unknown_share(names: Collection[str], contents: Iterable[str]) -> float:
    """Share (0–1) of the names that no text has, in any ending or spelling; 0 without names."""
    unknown = set(names)
    texts: list[str] = []
    for content in contents:
        if not unknown:
            return 0.0
        texts.append(content)
        lowered = content.lower()
        unknown = {name for name in unknown if not has_name(lowered, name)}
    if unknown:
        beginnings = "\n".join(text[:NAME_SEARCH_CHARS] for text in texts)
        capitalised = {without_marks(word) for word in set(_WORD.findall(beginnings)) if word[0].isupper()}
        unknown = {name for name in unknown if not is_other_spelling(without_marks(name), capitalised)}
        unknown = {name for name in unknown if not any(contains_run(text, name) for text in texts)}
    return len(unknown) / len(names) if names else 0.0


def has_name(lowered: str, name: str) -> bool:
    """Whether a lower-case text has a word that begins like the name; a short name whole, or in the plural."""
    beginning, is_whole = name[:NAME_CHARS], len(name) <= NAME_CHARS
    at = lowered.find(beginning)
    while at >= 0:
        rest = lowered[at + len(beginning) :][:2].removeprefix("s") if is_whole else ""
        if not lowered[max(at - 1, 0) : at].isalnum() and not rest[:1].isalnum():
            return True
        at = lowered.find(beginning, at + 1)
    return False


def is_other_spelling(name: str, words: Collection[str]) -> bool:
    """Whether one of the lower-case words may be the same name: Mohammed and Muhammad, Akib and Aqib."""
    alike = [
        word for word in words if word[0] == name[0] and abs(len(word) - len(name)) <= MAX_LENGTH_DIFFERENCE
    ]
    return bool(get_close_matches(name, alike, n=1, cutoff=SPELLING_RATIO))


def lead_of_others(
    question: Question,
    ranked: Sequence[tuple[int, float]],
    candidates: Mapping[int, Candidate],
    rows: Mapping[int, RankingFields],
    group_key: int | None = None,
) -> float:
    """How far other speakers' turns lead those by or about the one speaker that the question names; 0 if they do not.

    The speaker boost and the penalty outside `group_key`, the one group of the request, are taken out first: they change
    who ranks first, not whose words answer.
    """
    if not question.names:
        return 0.0
    turns = [
        (rows[key].content, score - elsewhere_adjustment(rows[key], group_key))
        for key, score in ranked
        if candidates[key].is_turn
    ]
    spoken = [(speaker_of(content), content, score) for content, score in turns]
    named = (question.names & frozenset().union(*(speaker for speaker, _, _ in spoken))) - ROLES
    if len(named) != 1:
        return 0.0
    [name] = named
    own: list[float] = []
    others: list[float] = []
    for speaker, content, score in spoken:
        if name in speaker:
            own.append(score - TUNING.speaker_boost)
        elif speaker:
            (own if is_about(content, name) else others).append(score)
    return max(0.0, _strength(others) - _strength(own))


def is_about(text: str, name: str) -> bool:
    """Whether a turn is about the person ("Maria says so", "Maria's car") and does not only greet them ("Hey Maria!")."""
    lowered = text.lower()
    at = lowered.find(name)
    while at >= 0:
        is_word = not lowered[max(at - 1, 0) : at].isalnum()
        is_followed = _FOLLOWED.match(lowered, at + len(name)) is not None
        if is_word and is_followed and not lowered.endswith(_GREETINGS, 0, at):
            return True
        at = lowered.find(name, at + 1)
    return False


def _strength(scores: Sequence[float]) -> float:
    """Mean of the best score and of the mean of the three best; 0 without scores."""
    best = sorted(scores, reverse=True)[:BEST_TURNS]
    return (best[0] + sum(best) / len(best)) / 2 if best else 0.0


# Shared words


def shared_word_shares(match: Match | None, contents: Sequence[str]) -> list[float]:
    """Share (0–1) of the query's words in each text, in any ending, inside identifiers too."""
    wanted = {root(word) for term in match.terms for word in term.split()} - {""} if match else set()
    if match is None or not wanted:
        return [0.0] * len(contents)
    with_signs = any(term.endswith(SIGNS) or term.startswith(DOT) for term in match.terms)
    return [len(find_roots(text, wanted, with_signs=with_signs)) / len(wanted) for text in contents]


def find_roots(text: str, wanted: set[str], *, with_signs: bool) -> set[str]:
    """Those of the roots that a text has. In ASCII text, searching for each root is faster than taking every word's."""
    if not text.isascii():
        found = wanted & {
            root(word) for word in {*words(text), *words(without_marks(text)), *list_forms(text)}
        }
    else:
        lowered = text.lower()
        found = {form for form in wanted if _has_root(lowered, form)}
        if with_signs:
            found |= wanted & {root(form) for form in list_forms(text)}
    return found | {form for form in wanted - found if contains_run(text, form, read_as=root)}


def _has_root(lowered: str, form: str) -> bool:
    """Whether a word of a lower-case ASCII text has this root, as root() returns it."""
    at = lowered.find(form)
    while at >= 0:
        if not at or not lowered[at - 1].isalnum():
            end = at + len(form)
            goes_on = lowered[end : end + 1].isalnum()
            if len(form) == ROOT_CHARS and (goes_on or form[-1] != "s"):
                return True
            while lowered[end : end + 1] == "s" and end < at + ROOT_CHARS:
                end += 1
            if form[-1] != "s" and not lowered[end : end + 1].isalnum():
                return True
        at = lowered.find(form, at + 1)
    return False
