"""Abstention: whether the best candidates answer the question at all. The weights are in memories.recall.weights."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from math import log, log2, sqrt
from typing import NamedTuple

from django.utils import timezone

from access.limits.deadline import check_time
from memories.language.cleaning import without_marks
from memories.language.metadata import metadata_words
from memories.language.word_forms import DOT, SIGNS, contains_run, has_root, list_forms, root, word_starts
from memories.language.word_tables import parse_words, read_sections
from memories.models import Memory
from memories.recall.dates import is_past, is_true_at, mentions_any_of
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.scoring import Candidate, Trace, is_dated, is_elsewhere, speaker_of
from memories.recall.weights import (
    ABOVE_FILLER,
    ABOVE_NEAREST,
    BEST_TURNS,
    CROWD,
    CROWD_CHARS,
    ELSEWHERE_SHARE,
    FACT_OF_A_DAY_SHARE,
    FACTS,
    FAR_BELOW_SHARE,
    FEW,
    JUDGED_CANDIDATES,
    LONE_WANTED,
    LONG,
    LONG_TEXT_WORDS,
    MAX_BEST,
    MAX_ELSEWHERE_SHARE,
    MAX_LENGTH_DIFFERENCE,
    NAME_CHARS,
    NAME_SEARCH_CHARS,
    SHORT_WORDS,
    SPELLING_RATIO,
    SURE_MARGIN,
    TALK,
    UNKNOWN,
    UNRELATED_MEAN,
    UNRELATED_SPREAD,
    WEIGHTS,
    WORDY,
    AbstentionLimits,
)
from memories.search.query_terms import Match, exact_numbers_in, has_identifier, words
from memories.search.rows import RankingFields
from memories.store.pieces import embedded_text
from memories.types import Type

# Of a text; those of other scripts take ten times as long.
READ_CHARS, READ_OTHER_CHARS = 20_000, 5_000


def shared_word_shares(match: Match | None, contents: Sequence[str]) -> list[float]:
    """Share (0–1) of the query's words in each text, in any ending, inside identifiers too."""
    number = len(_wanted_roots(match)) or 1
    return [count / number for count in count_shared_words(match, contents)]


def count_shared_words(match: Match | None, contents: Sequence[str]) -> list[int]:
    """How many of the query's words each text has, in any ending, inside identifiers too."""
    wanted = _wanted_roots(match)
    if match is None or not wanted:
        return [0] * len(contents)
    with_signs = any(term.endswith(SIGNS) or term.startswith(DOT) for term in match.terms)
    return [len(_find_roots(text, wanted, with_signs=with_signs)) for text in contents]


def _wanted_roots(match: Match | None) -> set[str]:
    return {root(word) for term in match.terms for word in term.split()} - {""} if match else set()


def _find_roots(text: str, wanted: set[str], *, with_signs: bool) -> set[str]:
    """Those of the roots that the beginning of a text has.

    In ASCII text, searching for each root is faster than taking every word's.
    """
    check_time()
    text = text[: READ_CHARS if text.isascii() else READ_OTHER_CHARS]
    if not text.isascii():
        found = wanted & {
            root(word) for word in {*words(text), *words(without_marks(text)), *list_forms(text)}
        }
    else:
        lowered = text.lower()
        found = {form for form in wanted if has_root(lowered, form)}
        if with_signs:
            found |= wanted & {root(form) for form in list_forms(text)}
    return found | {form for form in wanted - found if contains_run(text, form, read_as=root)}


# Why a candidate is not in the answer, wherever that is shown.
FILLER_REASON = "it shares no word with the question and is not close in meaning"
ELSEWHERE_REASON = "it is another group's, and far below the best"
FAR_BELOW_REASON = "it is far below the best (a request that names max_results gets it)"


def reasons_against(
    key: int, ranking: Ranking, question: Question, *, least_share: float | None = FAR_BELOW_SHARE
) -> list[str]:
    """Why an answer has no use for a candidate, however good its rank; `least_share` is the answer's, see _is_far_below()."""
    found = [FILLER_REASON] if is_filler(key, ranking, question) else []
    if _is_far_below_elsewhere(key, ranking):
        found.append(ELSEWHERE_REASON)
    if not found and least_share is not None and _is_far_below(key, ranking, least_share):
        found.append(FAR_BELOW_REASON)
    return found


def _is_far_below_elsewhere(key: int, ranking: Ranking) -> bool:
    """Whether a candidate is another group's memory and far below the best; the longer it is, the less far is enough.

    What proves a requested relation is none, nor is anything in a request to all groups.
    """
    row = ranking.rows.get(key)
    if row is None or ranking.group_key in (None, row.group_id) or key in ranking.requested:
        return False
    longer = max(0.0, log2(max(ranking.candidates[key].words, 1) / SHORT_WORDS))
    share = min(ELSEWHERE_SHARE + WORDY * longer, MAX_ELSEWHERE_SHARE)
    return ranking.score_by_key.get(key, 0.0) < share * ranking.best_score


def _is_far_below(key: int, ranking: Ranking, least_share: float) -> bool:
    """Whether a candidate has less than this share of the best score; what was requested never has.

    The best counts as MAX_BEST at most: an identifier or a day lifts one memory, and the question may have another part.
    """
    if key not in ranking.rows or key in ranking.requested:
        return False
    return ranking.score_by_key.get(key, 0.0) < least_share * min(ranking.best_score, MAX_BEST)


def is_filler(key: int, ranking: Ranking, question: Question) -> bool:
    """Whether a candidate would only pad the answer; what proves a requested relation never does."""
    found = ranking.candidates[key]
    # A question that the model cannot read is close to anything.
    return key not in ranking.requested and is_unrelated(found.keyword, found.vector * question.readable)


def is_unrelated(keyword: float, cosine: float) -> bool:
    """Whether a text shares no word with the question and is not closer than unrelated texts are."""
    return not keyword and cosine < UNRELATED_MEAN + ABOVE_FILLER * UNRELATED_SPREAD


def choose_limits(ranking: Ranking, judged: Sequence[int], *, vectors: int) -> AbstentionLimits:
    """The limits for the kind of text that most of the judged are, or those for few texts or unknown ones."""
    if vectors < CROWD and sum(len(row.content) for row in ranking.rows.values()) < CROWD_CHARS:
        return FEW
    if not ranking.rows:
        return UNKNOWN
    found = ranking.candidates
    # A thread's text without a speaker may well be a fact.
    talk = [
        key
        for key in judged
        if found[key].words > LONG_TEXT_WORDS
        or (found[key].is_turn and bool(speaker_of(ranking.rows[key].content)))
    ]
    if len(talk) * 2 < len(judged):
        return FACTS
    long = sum(found[key].words > LONG_TEXT_WORDS for key in talk)
    return LONG if long * 2 >= len(talk) else TALK


def group_level(cosines: Iterable[float]) -> float:
    """The cosine of the last of a crowd: any text of the group comes so close, the closer the more there are."""
    nearest = sorted(cosines, reverse=True)[:CROWD]
    return nearest[-1] if nearest else 0.0


def small_store_limit(candidates: int) -> float:
    """The limit for the nearest of so few candidates: more than the nearest unrelated text reaches, at most that of FACTS.

    The expected greatest of n normal values lies about sqrt(2 ln n) spreads above their mean.
    """
    nearest = sqrt(2 * log(max(candidates, 2)))
    return min(UNRELATED_MEAN + UNRELATED_SPREAD * (nearest + ABOVE_NEAREST), FACTS.wanted)


_CAPITALISED = re.compile(r"[^\W\d_][\w'’]{2,}")


def unknown_share(names: Collection[str], contents: Iterable[str]) -> float:
    """Share (0–1) of the names that no text has, in any ending or spelling; 0 without names."""
    unknown = set(names)
    texts: list[str] = []
    for content in contents:
        if not unknown:
            return 0.0
        texts.append(content)
        lowered = content.lower()
        unknown = {name for name in unknown if not _has_name(lowered, name)}
    if unknown:
        beginnings = "\n".join(text[:NAME_SEARCH_CHARS] for text in texts)
        capitalised = {
            without_marks(word) for word in set(_CAPITALISED.findall(beginnings)) if word[0].isupper()
        }
        unknown = {name for name in unknown if not is_other_spelling(without_marks(name), capitalised)}
        unknown = {name for name in unknown if not any(contains_run(text, name) for text in texts)}
    return len(unknown) / len(names) if names else 0.0


def _has_name(lowered: str, name: str) -> bool:
    """Whether a lower-case text has a word that begins like the name; a short name whole, or in the plural."""
    beginning, is_whole = name[:NAME_CHARS], len(name) <= NAME_CHARS
    for at in word_starts(lowered, beginning):
        end = at + len(beginning)
        rest = lowered[end : end + 2].removeprefix("s") if is_whole else ""
        if not rest[:1].isalnum():
            return True
    return False


def is_other_spelling(name: str, words: Collection[str]) -> bool:
    """Whether one of the lower-case words may be the same name: Mohammed and Muhammad, Akib and Aqib."""
    alike = [
        word for word in words if word[0] == name[0] and abs(len(word) - len(name)) <= MAX_LENGTH_DIFFERENCE
    ]
    return bool(get_close_matches(name, alike, n=1, cutoff=SPELLING_RATIO))


def _unknown_word_share(question: Question, contents: Iterable[str]) -> float:
    """Share (0–1) of the question's words that no text has in any ending; names of persons are not counted as words here."""
    named = {root(name) for name in question.person_names}
    wanted = (
        {root(term) for term in question.match.terms if " " not in term} - {""} if question.match else set()
    )
    unknown = wanted - named
    for content in contents:
        if not unknown:
            break
        unknown = unknown - _find_roots(content, unknown, with_signs=False)
    return len(unknown) / len(wanted) if wanted else 0.0


_ROLES = frozenset({"user", "human", "assistant", "ai", "agent"})  # "User:" is not a person's name
_FOLLOWED = re.compile(r"(?:['’]s)? \w")
_GREETINGS = tuple(
    word + end
    for word in ("hey", "hi", "hello", "thanks", "you", "yes", "yeah", "no", "wow", "oh")
    for end in (" ", ", ")
)


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
        (rows[key].content, score - WEIGHTS.elsewhere * is_elsewhere(rows[key], group_key))
        for key, score in ranked
        if candidates[key].is_turn
    ]
    spoken = [(speaker_of(content), content, score) for content, score in turns]
    named = (question.names & frozenset().union(*(speaker for speaker, _, _ in spoken))) - _ROLES
    if len(named) != 1:
        return 0.0
    [name] = named
    own: list[float] = []
    others: list[float] = []
    for speaker, content, score in spoken:
        if name in speaker:
            own.append(score - WEIGHTS.speaker)
        elif speaker:
            (own if is_about(content, name) else others).append(score)
    return max(0.0, _strength(others) - _strength(own))


def is_about(text: str, name: str) -> bool:
    """Whether a turn is about the person ("Maria says so", "Maria's car") and does not only greet them ("Hey Maria!")."""
    lowered = text.lower()
    return any(
        _FOLLOWED.match(lowered, at + len(name)) and not lowered.endswith(_GREETINGS, 0, at)
        for at in word_starts(lowered, name)
    )


def _strength(scores: Sequence[float]) -> float:
    """Mean of the best score and of the mean of the three best; 0 without scores."""
    best = sorted(scores, reverse=True)[:BEST_TURNS]
    return (best[0] + sum(best) / len(best)) / 2 if best else 0.0


@dataclass(frozen=True)
class Nearness:
    """How close the best candidates come to the question, term by term of AbstentionLimits."""

    nearest_cosine: float = 0.0
    shared_words: float = 0.0
    shared_by_first: float = 0.0
    level: float = 0.0
    unknown_names: float = 0.0
    unknown_words: float = 0.0
    others_lead: float = 0.0

    def reached(self, by: AbstentionLimits) -> float:
        """The weighted sum that is compared with `wanted`."""
        return (
            self.nearest_cosine
            + by.words * self.shared_words
            + by.first * self.shared_by_first
            + by.level * self.level
            + by.strangers * self.unknown_names
            + by.unknown * self.unknown_words
            + by.others * self.others_lead
        )


def _measure_nearness(
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
    # A filler shares nothing: five letters in common are not a word of the question yet.
    shares = [
        0.0 if is_filler(memory.key, ranking, question) else share
        for memory, share in zip(judged, shares, strict=True)
    ]
    contents = [row.content for row in rows.values()]
    return Nearness(
        nearest_cosine=max((cosines[memory.key] for memory in judged if memory.key in cosines), default=0.0),
        shared_words=max(shares),
        shared_by_first=shares[0],
        level=group_level(cosines.values()) if limits.level else 0.0,
        unknown_names=unknown_share(question.person_names, contents) if limits.strangers else 0.0,
        unknown_words=_unknown_word_share(question, contents) if limits.unknown else 0.0,
        others_lead=lead_of_others(question, ranking.scores, ranking.candidates, rows, ranking.group_key)
        if limits.others
        else 0.0,
    )


def _own_words(memory: Memory) -> str:
    """The content, the tags and the words of the metadata."""
    return " ".join([memory.content, *memory.tags, metadata_words(memory.metadata, memory.source)])


def _with_asked_date(memory: Memory, rows: Mapping[int, RankingFields], question: Question) -> str:
    """Its own words, with its date in the words that the model reads if the question names that date."""
    content = _own_words(memory)
    row = rows.get(memory.key) if question.dates else None
    if row is None or row.moment is None or not is_dated(row, question.dates):
        return content
    return f"{embedded_text(content, row.moment)} {row.moment:%Y-%m-%d} {question.time_words}"


def _is_time_empty(question: Question, ranking: Ranking, judged: Sequence[Memory]) -> bool:
    """Whether the question names a few days that are past, or a time and nothing else, of which nothing is stored.

    A memory of another day may still tell of it, or say what was true then. Without rows (modes for comparison) only a
    time alone is judged.
    """
    times, today = question.dates, timezone.localdate()
    if ranking.dated.all or not times or not (ranking.rows or question.is_time_alone):
        return False
    if not question.is_time_alone and not all(is_past(time, today) for time in times):
        return False
    if any(mentions_any_of(memory, times, today) for memory in judged):
        return False
    facts = [memory for memory in judged if is_true_at(memory, times, today)]
    return not any(share >= FACT_OF_A_DAY_SHARE for share in _shares_beside_time(question, facts))


def _shares_beside_time(question: Question, memories: Sequence[Memory]) -> list[float]:
    """The share of the question's words that each memory has, without the words that name the time.

    Of a single word ("Was there an incident on 3 May?") no fact says what was true then, so nothing is shared.
    """
    time = {*words(question.time_words)}
    terms = question.match.terms if question.match else ()
    others = tuple(term for term in terms if not time & {*term.split()})
    return shared_word_shares(
        Match(others) if len(others) > 1 else None, [memory.content for memory in memories]
    )


_ASKS = re.compile(
    r"\bhow much\b.*\b(?:pay|pays|paid|costs?|charges?|charged|spend|spent|earns?|owe|owes)\b"
    r"|\bwhat (?:do|does|did)\b.*\b(?:costs?|charge)\b"
    r"|\b(?:price|budget|salary|rent|cost|costs|fee) (?:of|for|per)\b",
    re.I,
)
_AMOUNT = re.compile(
    r"[€$£¥%]|\b(?:euros?|eur|usd|gbp|dollars?|pounds?|cents?|pence|bucks|kronor|kroner|sek|nok|dkk|chf|francs?|yen|yuan"
    r"|rupees?|z[lł]oty|pln|free|gratis|nothing|million|billion|grand)\b|\d+ ?k\b",
    re.I,
)
_ASKING_WORDS = parse_words(read_sections("question_words")["for an amount"])


def _lacks_amount(question: Question, ranking: Ranking, judged: Sequence[Memory]) -> bool:
    """Whether the question asks for an amount of money, and of the statements that have most of its words none has one.

    Turns are left out: who answers in a conversation rarely repeats the question's words.
    """
    if not ranking.rows or question.match is None or not _ASKS.search(question.text):
        return False
    things = Match(tuple(term for term in question.match.terms if term not in _ASKING_WORDS))
    told = [
        memory
        for memory in judged
        if not ranking.candidates[memory.key].is_turn and not is_filler(memory.key, ranking, question)
    ]
    shares = shared_word_shares(things, [*map(_own_words, told)])
    most = max(shares, default=0.0)
    about = [memory for memory, share in zip(told, shares, strict=True) if share == most] + told[:1]
    return most > 0 and not any(_AMOUNT.search(memory.content) for memory in about)


def asked_for(
    best: Sequence[Memory], ranking: Ranking, question: Question, *, least_share: float | None = None
) -> Iterator[Memory]:
    """The memories that a question which collects asks for by what they are; none if it does not say that.

    They tell of the person who asks, name the thing of which it asks for all, or are of the time that it names; next to those of
    a time stand other texts that answer, unless they are of another time and do not speak of this one.
    """
    events, today = {*ranking.dated.events}, timezone.localdate()
    if (asker := question.asker) is not None:
        for memory in best:
            if asker.is_told_by(memory, speaker_of(memory.content) if memory.thread_id else frozenset()):
                yield memory
    elif question.thing:
        named = [memory for memory in best if has_root(memory.content.lower(), question.thing)]
        yield from named if len(named) > 1 else ()
    elif question.collects and events.intersection(memory.key for memory in best):
        for memory in best:
            is_event = memory.type == Type.EPISODIC or memory.valid_from is not None
            is_event = is_event and not ranking.candidates[memory.key].is_turn  # talk tells of any time
            if memory.key in events or (
                not question.asks_wrong
                and not reasons_against(memory.key, ranking, question, least_share=least_share)
                and (not is_event or mentions_any_of(memory, question.dates, today))
            ):
                yield memory


# Why a candidate is not in the answer, wherever that is shown.
NOTHING_RELEVANT = "nothing found is close enough to be an answer"
_HAS_DIGIT_OR_PATH = re.compile(r"[\d/]")


class Confidence(StrEnum):
    """How sure it is that the memories answer the question."""

    HIGH = "high"
    LOW = "low"


class _Answerability(NamedTuple):
    """Whether the best candidates answer the question, how sure that is, and a remark if it is not."""

    is_answerable: bool
    confidence: Confidence = Confidence.LOW
    doubt: str = ""


UNSURE = "Low confidence"
_BY_WORDS_ALONE = "By words alone, low confidence: the model does not read the question's language well"
NOTHING, SURE = _Answerability(False), _Answerability(True, Confidence.HIGH)


def is_answerable(question: Question, ranking: Ranking, best: Sequence[Memory], trace: Trace) -> bool:
    """Whether the best candidates answer the question, as judge() says."""
    return judge(question, ranking, best, trace).is_answerable


def judge(question: Question, ranking: Ranking, best: Sequence[Memory], trace: Trace) -> _Answerability:
    """Whether the best candidates come close to the question in meaning and words, or one has all of its words.

    All candidates together are what the group knows on the topic: a name in none of them is unknown there. Without
    vectors one shared word is enough, and so it is for a question that is not in English. Only mode hybrid knows kinds of
    text, names and speakers.
    """
    if not best:
        trace.add("relevance", answerable=False, why="there are no candidates")
        return NOTHING
    if unknown := _unknown_identifiers(question, ranking):
        trace.add("relevance", answerable=False, why=f"nothing has {', '.join(unknown)}")
        return NOTHING
    judged = best[:JUDGED_CANDIDATES]
    if (asked := any(asked_for(best, ranking, question))) or question.asker:
        trace.add("relevance", answerable=asked, why="what the question collects all of")
        return SURE if asked else NOTHING
    if question.is_time_alone and ranking.dated.all:
        trace.add("relevance", answerable=True, why="these are the memories of that time")
        return SURE
    if _is_time_empty(question, ranking, judged):
        times = ", ".join(str(time) for time in question.dates)
        trace.add("relevance", answerable=False, why=f"nothing is stored of {times}")
        return NOTHING
    if _lacks_amount(question, ranking, judged):
        trace.add("relevance", answerable=False, why="nothing about it has an amount of money")
        return NOTHING
    return _judge_nearness(question, ranking, judged, trace)


def _judge_nearness(
    question: Question, ranking: Ranking, judged: Sequence[Memory], trace: Trace
) -> _Answerability:
    """The verdict by how close the judged memories come."""
    cosines = {key: c.vector for key, c in ranking.candidates.items() if c.vector}
    limits = choose_limits(ranking, [memory.key for memory in judged], vectors=len(cosines))
    wanted = small_store_limit(len(cosines)) if limits is FEW else limits.wanted
    nearness = _measure_nearness(question, ranking, judged, cosines, limits)
    if not nearness.shared_words and len(words(question.text)) == 1:
        wanted = max(wanted, LONE_WANTED)
    reached = nearness.reached(limits)
    is_read = question.is_read and any(memory.key in cosines for memory in judged)
    has_all_words = nearness.shared_words == 1.0 and not nearness.others_lead
    if is_read:
        answerable = reached >= wanted or has_all_words
    else:
        answerable = not question.is_read or nearness.shared_words > 0
    # In a language that the model cannot read, fillers alone may reach the limit.
    answerable = answerable and not all(is_filler(memory.key, ranking, question) for memory in judged)
    is_near = has_all_words or reached >= wanted + SURE_MARGIN
    is_sure = is_read and is_near and not _lacks_names(question, judged[0])
    doubt = UNSURE if question.is_read else _BY_WORDS_ALONE
    if judged[0].key in ranking.sure:
        is_sure, doubt = ranking.sure[judged[0].key], UNSURE
    is_sure = is_sure and answerable
    confidence = Confidence.HIGH if is_sure else Confidence.LOW
    verdict = _Answerability(answerable, confidence, doubt if answerable and not is_sure else "")
    numbers = {**vars(nearness), "reached": reached, "wanted": wanted}
    rounded = {name: round(number, 4) for name, number in numbers.items()}
    trace.add(
        "relevance", answerable=answerable, kind=limits.kind, **rounded, confidence=verdict.confidence.value
    )
    return verdict


def _lacks_names(question: Question, first: Memory) -> bool:
    """Whether the best memory has none of the question's names and numbers: "seats in York" is near to the seats in Leeds."""
    # The first word has a capital anyway.
    capitalised = {
        root(name.lower()) for name in _CAPITALISED.findall(question.text[1:]) if name[0].isupper()
    }
    times = {root(word) for word in words(question.time_words)}
    named = {form for form in _wanted_roots(question.match) if form in capitalised or form.isdigit()} - times
    if not named or not question.text.rstrip().endswith("?"):  # a task names much that no memory has
        return False
    return not _find_roots(_own_words(first), named, with_signs=False)


def _unknown_identifiers(question: Question, ranking: Ranking) -> tuple[str, ...]:
    """The question's identifiers and exact numbers if no candidate has one of them in its text or tags; none otherwise.

    A name in code without a digit or a path is not proof: texts write it in other forms.
    """
    exact = tuple(i for i in question.identifiers if _HAS_DIGIT_OR_PATH.search(i))
    if not question.dates:
        exact += tuple(n for n in exact_numbers_in(question.text) if n not in exact)
    rows = ranking.rows.values()
    is_known = any(
        has_identifier(row.content, i) or has_identifier(row.tags, i) for i in exact for row in rows
    )
    return () if is_known or not rows else exact
