"""The read path: recall() finds what is worth knowing for a question, explains it, and says when there is nothing."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from access.actor import Actor
from access.errors import InvalidInput
from access.groups import find_group
from access.models import Group
from access.visibility import Narrowing, Visibility
from memories.draft import check_choice, check_range, check_tags
from memories.embedding import Encoder
from memories.embedding.concurrency import CORES
from memories.language.cleaning import clean_text
from memories.models import Memory
from memories.queries.as_of import version_then
from memories.queries.by_key import read_shown
from memories.queries.labels import label_of
from memories.queries.versions import head_of, parse_id
from memories.queries.visibility import as_q, is_visible, recallable_by
from memories.recall.abstention import (
    FILLER_REASON,
    JUDGED_CANDIDATES,
    NOTHING_RELEVANT,
    is_answerable,
    is_filler,
)
from memories.recall.budget import Portion, pack
from memories.recall.fusion import MODES
from memories.recall.pipeline import Ranking, current_tuning, gather, score_candidates
from memories.recall.question import Question, understand
from memories.recall.recall_log import COUNTER, PendingRecall
from memories.recall.trace import Trace
from memories.recall.weights import Tuning
from memories.store.pieces import encoder_for_index, indexed_model
from memories.types import Type

MAX_QUERY_CHARS = 4000
MAX_RESULTS = 100
MAX_IDS = 100
MIN_TOKEN_BUDGET, MAX_TOKEN_BUDGET = 50, 100_000
CHANGED_REASON = "it changed or went while the question was answered"
MAX_NEAREST = 3  # given apart when there is no answer


@dataclass(frozen=True)
class RecallRequest:
    """What a caller asks for: a question, or ids to read in full. None takes the settings' default.

    A trial leaves no row among the recalls and counts no access: somebody looks at recall itself.
    """

    query: str = ""
    ids: tuple[str | UUID, ...] = ()
    group: str | None = None
    narrowing: Narrowing = field(default_factory=Narrowing)
    max_results: int | None = None
    token_budget: int | None = None
    summary_only: bool = False
    explain: bool = False
    mode: str | None = None
    is_trial: bool = False


@dataclass(frozen=True)
class Item:
    """One memory of an answer. `label` says why to be careful with it; `is_cut` that only a part of the text is given."""

    memory: Memory
    text: str
    score: float
    label: str = ""
    is_cut: bool = False
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RecallResult:
    """An answer, best first. When nothing is relevant, `abstained` is True and `nearest` has the nearest apart."""

    items: tuple[Item, ...]
    group: str
    mode: str
    abstained: bool = False
    nearest: tuple[Item, ...] = ()
    degraded: str = ""
    left_out: int = 0
    missing: tuple[str, ...] = ()
    tokens: int = 0
    duration_ms: float = 0.0
    trace: Trace | None = None


def recall(actor: Actor, asked: RecallRequest) -> RecallResult:
    """Answer a question from what `actor` may see, or give memories by their ids.

    1. check what is asked; find the group; work out the Visibility
    2. understand the question (words, vector, dates, names)
    3. candidates of both searches inside the Visibility, each with its true score in both
    4. fuse, adjust, judge whether there is an answer at all
    5. cut to `max_results` and `token_budget`
    6. count the access, after the answer

    Raises:
        InvalidInput: something asked is not allowed; `field` says what.
        GroupRequired, GroupNotFound, NotPermitted: the group is at fault.
    """
    started = time.perf_counter()
    asked = _checked(asked)
    if asked.ids:
        return _by_ids(actor, asked, started)
    while True:
        mode = asked.mode or settings.LOCI.retrieval.mode
        encoder, degraded = _encoder(mode)  # may wait for a model that loads, so before a place is taken
        # Nobody waits for a place in a transaction, which may keep others from writing.
        with nullcontext() if connection.in_atomic_block else CORES.taken():
            answer = _recall(actor, asked, encoder, degraded=degraded, mode=mode, started=started)
        if answer is not None:
            return answer


def _recall(
    actor: Actor, asked: RecallRequest, encoder: Encoder | None, *, degraded: str, mode: str, started: float
) -> RecallResult | None:
    """Answer a question; None where the index holds another model's vectors meanwhile."""
    group = find_group(actor, asked.group)
    visibility = recallable_by(actor, group, narrowing=asked.narrowing)
    trace = Trace()
    if degraded:
        mode = "keyword"
    question = understand(asked.query, encoder=encoder)
    trace.add(
        "question", terms=list(question.match.terms if question.match else ()), mode=mode, degraded=degraded
    )
    ranking = find_ranking(question, visibility, mode=mode, trace=trace)
    if encoder is not None and question.vector is not None and indexed_model() not in ("", encoder.model_id):
        # A re-embed exchanged the index meanwhile, and one search compares the vectors of one model alone.
        return None
    answer = RecallResult(
        group=group.slug,
        mode=mode,
        degraded=degraded,
        trace=trace if asked.explain else None,
        **_answer(asked, ranking, question, visibility, encoder, trace),
        duration_ms=(time.perf_counter() - started) * 1000,
    )
    if not asked.is_trial:
        _count(actor, group, asked.query, answer)
    return answer


def rank(
    question: Question, visibility: Visibility, *, mode: str, trace: Trace
) -> list[tuple[Memory, float]]:
    """Give the memories inside the Visibility that may answer the question, best first, with their scores."""
    ranked = rank_keys(question, visibility, mode=mode, trace=trace)
    rows = _read_visible([key for key, _ in ranked], visibility, trace)
    return [(rows[key], score) for key, score in ranked if key in rows]


def _read_visible(keys: Sequence[int], visibility: Visibility, trace: Trace) -> dict[int, Memory]:
    """Give the memories' rows by key, without those that left the Visibility after the search found them."""
    rows = read_shown(keys)
    kept = {key: row for key, row in rows.items() if is_visible(row, visibility)}
    if len(kept) < len(keys):
        for key in keys:
            if key not in kept:
                trace.drop(key, CHANGED_REASON)
    return kept


def rank_keys(
    question: Question, visibility: Visibility, *, mode: str, trace: Trace
) -> list[tuple[int, float]]:
    """Give what rank() does by the memories' keys, without their whole rows."""
    return find_ranking(question, visibility, mode=mode, trace=trace).scores


def find_ranking(
    question: Question, visibility: Visibility, *, mode: str, trace: Trace, tuning: Tuning | None = None
) -> Ranking:
    gathered = gather(question, visibility, mode=mode, trace=trace)
    return score_candidates(gathered, question, mode=mode, tuning=tuning or current_tuning(), trace=trace)


def _answer(
    asked: RecallRequest,
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    encoder: Encoder | None,
    trace: Trace,
) -> dict[str, Any]:
    """Judge, cut and shape the ranked memories: the fields of Recalled that depend on them."""
    limit = asked.max_results or settings.LOCI.retrieval.max_results
    budget = asked.token_budget or settings.LOCI.retrieval.token_budget
    rows = _read_visible(
        [key for key, _ in ranking.scores[: max(limit, JUDGED_CANDIDATES)]], visibility, trace
    )
    best = [rows[key] for key, _ in ranking.scores if key in rows]
    is_found = is_answerable(question, ranking, best, trace)
    shown = _without_padding(best, ranking, question)[:limit] if is_found else best[:MAX_NEAREST]
    if asked.explain:
        _tell_left_out(shown, ranking, question, limit=limit, is_found=is_found, trace=trace)
    portions, left_out = pack(
        shown,
        token_budget=budget,
        encoder=encoder,
        summary_only=asked.summary_only or not is_found,
    )
    for memory in left_out:
        trace.drop(memory.key, f"the token budget of {budget}")
    scores = dict(ranking.scores)
    items = tuple(_item(portion, scores, asked, trace) for portion in portions)
    return {
        "items": items if is_found else (),
        "nearest": () if is_found else items,
        "abstained": not is_found,
        "left_out": len(left_out),
        "tokens": sum(portion.tokens for portion in portions),
    }


def _without_padding(best: list[Memory], ranking: Ranking, question: Question) -> list[Memory]:
    return [memory for memory in best if not is_filler(memory.key, ranking, question)]


def _tell_left_out(
    shown: list[Memory], ranking: Ranking, question: Question, *, limit: int, is_found: bool, trace: Trace
) -> None:
    """Name what keeps each of the other candidates out: all of it, so that nobody raises a limit for nothing."""
    settled = {memory.key for memory in shown} | trace.dropped.keys()
    for at, (key, _) in enumerate(ranking.scores):
        if key in settled:
            continue
        beyond = [f"beyond the first {limit}"] if at >= limit else []
        filling = [FILLER_REASON] if is_filler(key, ranking, question) else []
        trace.drop(key, " and ".join([*beyond, *filling]) if is_found else NOTHING_RELEVANT)


def _item(portion: Portion, scores: dict[int, float], asked: RecallRequest, trace: Trace) -> Item:
    memory = portion.memory
    return Item(
        memory=memory,
        text=portion.text,
        score=round(scores[memory.key], 4),
        label=label_of(memory),
        is_cut=portion.is_cut,
        numbers=trace.numbers.get(memory.key, {}) if asked.explain else {},
    )


def _by_ids(actor: Actor, asked: RecallRequest, started: float) -> RecallResult:
    """Give memories in full by their ids, from any group the actor may enter unless one is named.

    A former version's id leads to the version that counts now; in a question about the past, any version's id to the
    one that was true and known then.
    """
    group = find_group(actor, asked.group) if asked.group else None
    visibility = recallable_by(actor, group, narrowing=asked.narrowing)
    items: dict[int, Item] = {}
    missing: list[str] = []
    for raw in asked.ids:
        row = Memory.objects.filter(id=parse_id(raw, field="ids")).first()
        found = _standing(row, visibility) if row else None
        if found is None:
            missing.append(str(raw))
        else:
            items[found.key] = Item(found, found.content, 1.0, label_of(found))
    answer = RecallResult(
        tuple(items.values()),
        group.slug if group else "",
        "ids",
        missing=tuple(missing),
        duration_ms=(time.perf_counter() - started) * 1000,
    )
    _count(actor, group, " ".join(str(raw) for raw in asked.ids), answer)
    return answer


def _standing(row: Memory, visibility: Visibility) -> Memory | None:
    """Give the version that a row's id stands for: the one that counts, or the one that was true and known then."""
    if visibility.is_history:
        return version_then(row, visibility)
    rows = Memory.objects.select_related("group", "thread")
    return rows.filter(as_q(visibility), key=head_of(row).key).first()


def _count(actor: Actor, group: Group | None, query: str, answer: RecallResult) -> None:
    """Hand the recall to the counters, which write it later."""
    COUNTER.add(
        PendingRecall(
            at=timezone.now(),
            group_key=group.key if group else None,
            actor=actor.name,
            via=actor.via,
            mode=answer.mode,
            query=query,
            hits=tuple((item.memory.key, item.score) for item in answer.items),
            duration_ms=answer.duration_ms,
            abstained=answer.abstained,
            degraded=bool(answer.degraded),
        )
    )


def _encoder(mode: str) -> tuple[Encoder | None, str]:
    """Give the encoder where the mode needs one, or why recall goes by keywords alone."""
    encoder, indexed = encoder_for_index()
    if mode == "keyword":
        return encoder, ""
    if encoder is None:
        return None, "keyword only: the embedding model is not there yet ('loci model status' says why)"
    if indexed not in ("", encoder.model_id):
        return (
            None,
            f"keyword only: the index holds vectors of {indexed}, another model than the one installed; install that one again ('loci model install')",
        )
    return encoder, ""


def _checked(asked: RecallRequest) -> RecallRequest:
    if bool(asked.query.strip()) == bool(asked.ids):
        raise InvalidInput(
            "Give either a query or ids.", hint="A query is a question in words.", field="query"
        )
    if len(asked.ids) > MAX_IDS:
        raise InvalidInput(f"{len(asked.ids)} ids were given; at most {MAX_IDS} are allowed.", field="ids")
    if asked.query:
        clean_text(asked.query, field="query", max_chars=MAX_QUERY_CHARS)
    if asked.max_results is not None:
        check_range(asked.max_results, 1, MAX_RESULTS, field="max_results")
    if asked.token_budget is not None:
        check_range(asked.token_budget, MIN_TOKEN_BUDGET, MAX_TOKEN_BUDGET, field="token_budget")
    if asked.mode is not None:
        check_choice(asked.mode, list(MODES), field="mode")
    check_narrowing(asked.narrowing)
    return asked


def check_narrowing(narrowing: Narrowing) -> None:
    """Raise InvalidInput where a filter's value is not allowed."""
    for type_ in sorted(narrowing.types):
        check_choice(type_, Type.values, field="types")
    if narrowing.scope:
        check_choice(narrowing.scope, ["global", "group"], field="scope")
    check_tags(tuple(narrowing.tags))
    check_range(narrowing.min_confidence, 0, 1, field="min_confidence")
