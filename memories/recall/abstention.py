"""Judging whether the best candidates answer the question at all."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import log, sqrt

from django.conf import settings

from memories.language.cleaning import without_marks
from memories.language.word_forms import DOT, ROOT_CHARS, SIGNS, forms_in, root, stands_inside
from memories.models import Memory
from memories.recall.adjustments import SPEAKERS, elsewhere_adjustment, is_dated, speaker_of
from memories.recall.candidates import Candidate
from memories.recall.fusion import LONG_WORDS
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.trace import Trace
from memories.recall.weights import TUNING
from memories.search.base import RankingFields
from memories.search.query_terms import Match, words
from memories.store.pieces import embedded_text

NAME_CHARS = 5  # of a longer name so many decide: Deborah, Debora
# A name of the same first letter that has seven of ten letters in the same order is the same name, spelled otherwise.
SPELLED_ALIKE = 0.7
MOST_OTHER_LETTERS = 2
LOOKED_THROUGH = 300  # characters of each text
BEST_TURNS = 3
ROLES = frozenset().union(*SPEAKERS.values())  # "User:" labels nobody whom a question names
_WORD = re.compile(r"[^\W\d_][\w'’]{2,}")
_FOLLOWED = re.compile(r"(?:['’]s)? \w")
_GREETINGS = tuple(
    word + end
    for word in ("hey", "hi", "hello", "thanks", "you", "yes", "yeah", "no", "wow", "oh")
    for end in (" ", ", ")
)


def unknown_share(names: Collection[str], contents: Iterable[str]) -> float:
    """Give the share (0–1) of the names that no text has, whatever their endings and spelling; 0 where nothing is named."""
    unknown = set(names)
    texts: list[str] = []
    for content in contents:
        if not unknown:
            return 0.0
        texts.append(content)
        lowered = content.lower()
        unknown = {name for name in unknown if not _speaks_of(lowered, name)}
    if unknown:
        beginnings = "\n".join(text[:LOOKED_THROUGH] for text in texts)
        said = {without_marks(word) for word in set(_WORD.findall(beginnings)) if word[0].isupper()}
        unknown = {name for name in unknown if not is_other_spelling(without_marks(name), said)}
        unknown = {name for name in unknown if not any(stands_inside(text, name) for text in texts)}
    return len(unknown) / len(names) if names else 0.0


def is_other_spelling(name: str, words: Collection[str]) -> bool:
    """Say whether one of the words, in lower case, may be the same name: Mohammed and Muhammad, Akib and Aqib."""
    alike = [
        word for word in words if word[0] == name[0] and abs(len(word) - len(name)) <= MOST_OTHER_LETTERS
    ]
    return bool(get_close_matches(name, alike, n=1, cutoff=SPELLED_ALIKE))


def lead_of_others(
    question: Question,
    ranked: Sequence[tuple[int, float]],
    candidates: Mapping[int, Candidate],
    rows: Mapping[int, RankingFields],
    room: int | None = None,
) -> float:
    """Give how far turns of others lead those by or about the one speaker whom the question names; 0 where they do not.

    Strength is the mean of the best score and of the three best, without what ranking adds for the speaker and takes off what
    comes from elsewhere than the group asked in, `room`: that changes who is first, not who said it.
    """
    if not question.names:
        return 0.0
    turns = [
        (rows[key].content, score - elsewhere_adjustment(rows[key], room))
        for key, score in ranked
        if candidates[key].is_turn
    ]
    said = [(speaker_of(content), content, score) for content, score in turns]
    named = (question.names & frozenset().union(*(speaker for speaker, _, _ in said))) - ROLES
    if len(named) != 1:
        return 0.0
    [name] = named
    own: list[float] = []
    others: list[float] = []
    for speaker, content, score in said:
        if name in speaker:
            own.append(score - TUNING.speaker_boost)
        elif speaker:
            (own if is_about(content, name) else others).append(score)
    return max(0.0, _strength(others) - _strength(own))


def is_about(text: str, name: str) -> bool:
    """Say whether a turn tells of somebody ("Maria says so", "Maria's car") and does not only address them ("Hey Maria!")."""
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
    best = sorted(scores, reverse=True)[:BEST_TURNS]
    return (best[0] + sum(best) / len(best)) / 2 if best else 0.0


def _speaks_of(lowered: str, name: str) -> bool:
    """Say whether a text in lower case has a word that begins like the name; all of a short name, or its plural."""
    beginning, is_whole = name[:NAME_CHARS], len(name) <= NAME_CHARS
    at = lowered.find(beginning)
    while at >= 0:
        rest = lowered[at + len(beginning) :][:2].removeprefix("s") if is_whole else ""
        if not lowered[max(at - 1, 0) : at].isalnum() and not rest[:1].isalnum():
            return True
        at = lowered.find(beginning, at + 1)
    return False


JUDGED = 10  # of the best candidates
# What became of a candidate, wherever it is told.
NOTHING_RELEVANT = "nothing found is near enough to be an answer"
FILLER_REASON = "it shares no word with the question and is not near"


@dataclass(frozen=True)
class AbstentionLimits:
    """What is asked of the best candidates of one kind of text: the nearest cosine, with these weights, must be `wanted`.

    `words` is the share of the question's words that one of them has, `first` the first one's share, `level` the cosine
    that any text of the group reaches, `strangers` the share of names that the group never says, `others` how far
    others' turns lead those of the person named.
    """

    kind: str
    wanted: float
    words: float
    first: float = 0.0
    level: float = 0.0
    strangers: float = -0.5
    others: float = 0.0


# Fitted and rounded; docs/recall.md, "Nothing relevant", says how, and what they bring.
# Turns and long texts: what answers a question has its words, and a question on the group's matters is near all of it.
TALK = AbstentionLimits("talk", wanted=0.64, words=0.2, first=0.5, level=0.3, others=-5.0)
# Statements are asked for in other words, and are about anything: of many, one is always near.
FACTS = AbstentionLimits("facts", wanted=0.33, words=0.3, level=-0.5)
FEW = AbstentionLimits("few", wanted=0.0, words=0.3, strangers=0.0)  # related_from() says what is wanted
UNKNOWN = AbstentionLimits(
    "unknown", wanted=0.47, words=0.45, strangers=0.0
)  # modes to compare with read no texts
# Unrelated texts have cosines about this mean and spread, and the nearest of a few of them is not as near as the nearest
# of many: where fewer than MANY candidates were found, less is asked, and names that are not there say nothing.
UNRELATED_MEAN, UNRELATED_SPREAD = 0.02, 0.075
ABOVE_NEAREST = (
    1.4  # spreads; a question on the group's matters is nearer to all of them than an unrelated text
)
ABOVE_PADDING = 1.6  # spreads: docs/recall.md says what it leaves out
MANY = 60
MUCH_TEXT = 20_000  # characters in all: so much text counts as many memories, however few it is cut into


@dataclass(frozen=True)
class Nearness:
    """How near the best candidates come, by what counts for it."""

    nearest_cosine: float = 0.0
    shared_word_shares: float = 0.0
    shared_by_first: float = 0.0
    level: float = 0.0
    unknown_names: float = 0.0
    others_lead: float = 0.0

    def reached(self, by: AbstentionLimits) -> float:
        """Give what is compared with what is wanted."""
        return (
            self.nearest_cosine
            + by.words * self.shared_words
            + by.first * self.shared_by_first
            + by.level * self.level
            + by.strangers * self.unknown_names
            + by.others * self.others_lead
        )


def is_answerable(question: Question, ranking: Ranking, best: Sequence[Memory], trace: Trace) -> bool:
    """Say whether the best candidates come near the question in meaning and words, or one has all of its words.

    All candidates together are what the group says on the matter: who is not named in any of them is not known there.
    Without vectors one shared word is enough. Only mode hybrid knows kinds of text, names and speakers.
    """
    if not best:
        trace.add("relevance", answerable=False, why="there are no candidates")
        return False
    judged = best[:JUDGED_CANDIDATES]
    cosines = {key: c.vector for key, c in ranking.candidates.items() if c.vector}
    measure = choose_limits(ranking, [memory.key for memory in judged], vectors=len(cosines))
    wanted = small_store_limit(len(cosines)) if measure is FEW else measure.wanted
    nearness = _nearness(question, ranking, judged, cosines, measure)
    reached = nearness.reached(measure)
    if any(memory.key in cosines for memory in judged):
        has_all = nearness.shared_words == 1.0 and not nearness.others_lead
        answerable = reached >= wanted or has_all
    else:
        answerable = nearness.shared_words > 0
    # What the model cannot read may reach what is wanted without a single candidate that recall would give.
    answerable = answerable and not all(is_filler(memory.key, ranking, question) for memory in judged)
    numbers = {**vars(nearness), "reached": reached, "wanted": wanted}
    rounded = {name: round(number, 4) for name, number in numbers.items()}
    trace.add("relevance", answerable=answerable, kind=measure.kind, **rounded)
    return answerable


def _nearness(
    question: Question,
    ranking: Ranking,
    judged: Sequence[Memory],
    cosines: Mapping[int, float],
    measure: AbstentionLimits,
) -> Nearness:
    """Work out what the measure looks at."""
    rows = ranking.rows
    contents = (row.content for row in rows.values())
    # What would not be given shares nothing: five letters in common are no word of the question yet.
    shares = [
        0.0 if is_filler(memory.key, ranking, question) else share
        for memory, share in zip(
            judged,
            shared_word_shares(question.match, [_dated(memory, rows, question) for memory in judged]),
            strict=True,
        )
    ]
    return Nearness(
        nearest_cosine=max((cosines[memory.key] for memory in judged if memory.key in cosines), default=0.0),
        shared_word_shares=max(shares),
        shared_by_first=shares[0],
        level=group_level(cosines.values()) if measure.level else 0.0,
        unknown_names=unknown_share(question.named, contents) if measure.strangers else 0.0,
        others_lead=lead_of_others(question, ranking.scores, ranking.candidates, rows, ranking.room)
        if measure.others
        else 0.0,
    )


def _dated(memory: Memory, rows: Mapping[int, RankingFields], question: Question) -> str:
    """Give the text as it is compared: of an event of a date that the question names, with that date, as the model reads it."""
    moment = rows[memory.key].valid_from if memory.key in rows else None
    if moment is None or not is_dated(rows[memory.key], question.dates):
        return memory.content
    return f"{embedded_text(memory.content, moment)} {moment:%Y-%m-%d}"


def choose_limits(ranking: Ranking, judged: Sequence[int], *, vectors: int) -> AbstentionLimits:
    """Give the measure for the kind of text that most of the judged are, or the one for few texts or unknown ones."""
    if vectors < crowd_size() and sum(len(row.content) for row in ranking.rows.values()) < MUCH_TEXT:
        return FEW
    if not ranking.rows:
        return UNKNOWN
    talk = sum(_is_talk(ranking.candidates[key], ranking.rows[key].content) for key in judged)
    return TALK if talk * 2 >= len(judged) else FACTS


def _is_talk(candidate: Candidate, content: str) -> bool:
    """Say whether a text is long or somebody's turn; what a thread holds without saying who spoke may well be facts."""
    return candidate.words > LONG_WORDS or (candidate.is_turn and bool(speaker_of(content)))


def group_level(cosines: Iterable[float]) -> float:
    """Give the cosine of the last of many: any text of the group comes so near, the nearer the more there are."""
    nearest = sorted(cosines, reverse=True)[: crowd_size()]
    return nearest[-1] if nearest else 0.0


def is_padding(keyword: float, cosine: float) -> bool:
    """Say whether a candidate only fills up the answer: it shares no word and is no nearer than unrelated texts are."""
    return not keyword and cosine < UNRELATED_MEAN + ABOVE_PADDING * UNRELATED_SPREAD


def is_filler(key: int, ranking: Ranking, question: Question) -> bool:
    """Say whether a candidate would only fill up this answer; what proves a relation that is asked for never does."""
    found = ranking.candidates[key]
    # What the model cannot read is near to anything.
    return key not in ranking.asked and is_padding(found.keyword, found.vector * question.readable)


def crowd_size() -> int:
    """Give how many candidates are many: no more than either search is asked for."""
    return min(MANY, settings.LOCI.retrieval.candidates)


def small_store_limit(candidates: int) -> float:
    """Give what is asked of the nearest of so many candidates: more than the nearest unrelated one has.

    The expected greatest of n normal values lies about sqrt(2 ln n) spreads above their mean. Of many statements no more is asked.
    """
    nearest = sqrt(2 * log(max(candidates, 2)))
    return min(UNRELATED_MEAN + UNRELATED_SPREAD * (nearest + ABOVE_NEAREST), FACTS.wanted)


def shared_word_shares(match: Match | None, contents: Sequence[str]) -> list[float]:
    """Give the share (0–1) of the words looked for that each text has, whatever their endings, inside identifiers too."""
    wanted = {root(word) for term in match.terms for word in term.split()} - {""} if match else set()
    if match is None or not wanted:
        return [0.0] * len(contents)
    with_signs = any(term.endswith(SIGNS) or term.startswith(DOT) for term in match.terms)
    return [len(_roots_in(text, wanted, with_signs=with_signs)) / len(wanted) for text in contents]


def _roots_in(text: str, wanted: set[str], *, with_signs: bool) -> set[str]:
    """Give those of the roots that a text has. Looking for each in an ASCII text takes less than looking at each word."""
    if not text.isascii():
        found = wanted & {root(word) for word in {*words(text), *words(without_marks(text)), *forms_in(text)}}
    else:
        lowered = text.lower()
        found = {form for form in wanted if _has_root(lowered, form)}
        if with_signs:
            found |= wanted & {root(form) for form in forms_in(text)}
    return found | {form for form in wanted - found if stands_inside(text, form, read_as=root)}


def _has_root(lowered: str, form: str) -> bool:
    """Say whether a word of an ASCII text in lower case has this root, as root() gives it."""
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
