"""A second hop by name: "the author of ADR-14" is Catalina in the best answer, so what names Catalina is a candidate too."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from access.visibility import Visibility
from memories.language.word_tables import parse_words, read_sections
from memories.queries.by_key import read_memories
from memories.recall.dates import MONTH_NUMBER, WEEKDAYS
from memories.recall.dates.mentions import READ_CHARS
from memories.recall.pipeline import Ranking, current_tuning, gather, score_candidates
from memories.recall.question import Question
from memories.recall.shown.verified_first import find_crowded_out, put_verified_first
from memories.recall.trace import Trace
from memories.recall.weights import CANDIDATES, HOP_BOOST, HOP_CANDIDATES, HOP_NAMES, HOP_TO_FIRST
from memories.search.base import search_index
from memories.search.identifiers import identifiers_in
from memories.search.query_terms import STOP_WORDS, match_for, words
from memories.store.withdrawn.left_out import find_left_out

_TABLE: Final = read_sections("descriptions")
_PEOPLE, _AFTER = ("|".join(sorted(parse_words(_TABLE[name]))) for name in ("people", "followed by"))
_DESCRIBES: Final = re.compile(
    rf"\b(?:the|our|your) (?:[\w-]+ ){{0,2}}?(?:{_PEOPLE})(?: \w+){{0,2}}? (?:{_AFTER})\b"
    rf"|\bwhoever\b|['’]s (?:{_PEOPLE})\b",
    re.I,
)
# A capital within a sentence, or at its beginning before another one.
_NAME: Final = re.compile(
    r"(?<![.!?:\n] )(?<!^)\b[A-Z][a-z]+(?:-[A-Z][a-z]+)?\b|\b[A-Z][a-z]+(?= [A-Z][a-z])"
)
_DAYS: Final = frozenset(f"{day}{plural}" for day in WEEKDAYS for plural in ("", "s"))


def find_ranking(question: Question, visibility: Visibility, *, mode: str, trace: Trace) -> Ranking:
    """The ranked candidates of a question, with the weights in use and the second hop."""
    gathered = gather(question, visibility, mode=mode, trace=trace)
    missed: list[int] = []
    if mode == "hybrid":
        missed = find_crowded_out(gathered, question, visibility, limit=CANDIDATES)
    if missed:
        gathered = gather(question, visibility, mode=mode, trace=trace, also=missed)
    ranking = score_candidates(gathered, question, mode=mode, tuning=current_tuning(), trace=trace)
    ranking = follow_name(ranking, question, visibility, mode=mode, trace=trace, also=missed)
    return put_verified_first(ranking, question, trace)


def follow_name(
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    *,
    mode: str,
    trace: Trace,
    also: Sequence[int] = (),
) -> Ranking:
    """The ranking with the memories of a name that its first memory brings, if the question describes somebody.

    They are scored like every candidate and lifted by HOP_BOOST, but not above the first. Three more statements and a second
    search for such a question, nothing for others.
    """
    if mode != "hybrid" or not ranking.scores or not describes_somebody(question.text):
        return ranking
    match = match_for(" ".join(find_new_names(ranking, question, visibility)))
    if match is None:
        return ranking
    named = [hit.key for hit in search_index().keyword(match, visibility, limit=HOP_CANDIDATES)]
    gathered = gather(question, visibility, mode=mode, trace=Trace(), also=[*named, *also])
    widened = score_candidates(gathered, question, mode=mode, tuning=current_tuning(), trace=trace)
    first, best = ranking.scores[0]
    wanted = {*named} - {first}
    scores = {
        key: max(score, min(score + HOP_BOOST, best - HOP_TO_FIRST)) if key in wanted else score
        for key, score in widened.scores
    }
    trace.add("second hop", names=list(match.terms), found=len(wanted))
    in_order = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return replace(widened, scores=in_order, requested=widened.requested | wanted)


def describes_somebody(question: str) -> bool:
    """Whether a question says what somebody does instead of who it is."""
    return _DESCRIBES.search(question) is not None


def find_new_names(ranking: Ranking, question: Question, visibility: Visibility) -> list[str]:
    """Names in the first memory that the question does not have; none of a text that the group has withdrawn."""
    key = ranking.scores[0][0]
    rows = read_memories([key])
    if key not in rows or find_left_out(rows.values(), visibility):
        return []
    text = rows[key].content[:READ_CHARS]
    known = {*words(question.text), *MONTH_NUMBER, *STOP_WORDS, *_DAYS}
    found = dict.fromkeys([*_NAME.findall(text), *identifiers_in(text)])
    return [name for name in found if not known.issuperset(words(name))][:HOP_NAMES]
