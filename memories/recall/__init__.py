"""The read path: recall() finds the memories worth knowing for a question, explains them, and abstains if there are none."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connection
from django.db.models import QuerySet
from django.utils import timezone

from access.actor import Actor
from access.errors import InvalidInput
from access.groups import UnknownGroup, find_known_group
from access.limits.deadline import answering, check_time
from access.models import Group
from access.visibility import Visibility
from memories.draft import check_choice, check_range
from memories.embedding import Encoder, ModelUnavailable
from memories.embedding.concurrency import CORES
from memories.language.cleaning import clean_text
from memories.language.languages import describe_language
from memories.models import Memory
from memories.queries.as_of import newest_versions, versions_at
from memories.queries.versions import find_by_short_ids, heads_of, parse_id, parse_short_id
from memories.queries.visibility import is_visible, listed_by, recallable_by
from memories.recall.abstention import Confidence
from memories.recall.answer import (
    BY_ID,
    Item,
    RecallResult,
    build_answer,
    take_notes,
    to_items,
)
from memories.recall.budget import Fitting, Frame, counting_encoder
from memories.recall.choosing import fit_hits
from memories.recall.pipeline import find_ranking
from memories.recall.question import (
    Question,
    RecallRequest,
    check_narrowing,
    choose_encoder,
    understand,
    without_model,
)
from memories.recall.scoring import MODES, Trace
from memories.recall_log import COUNTER, PendingRecall
from memories.store.pieces import available_encoder, one_index_state, read_index_state
from memories.store.withdrawn.left_out import find_left_out
from memories.types import SUMMARY_SOURCE, SUMMARY_SOURCES, State
from storage.compiled_queries import CompiledQuery
from storage.postgresql.replica import database_of, leave_alone, reading_from

__all__ = ["Item", "RecallRequest", "RecallResult", "recall"]

# Bounds of a request; the fitted numbers are in memories.recall.weights.
MAX_QUERY_CHARS = 4000
MAX_RESULTS = 100
MAX_IDS = 100
MIN_TOKEN_BUDGET, MAX_TOKEN_BUDGET = 50, 100_000
_UNKNOWN_CHECKOUT = "Some of these memories depend on commits; which repository you work in is not known, so nothing is left out."
_UNLIMITED = 1 << 40  # tokens of an answer to ids without a budget


def recall(actor: Actor, request: RecallRequest) -> RecallResult:
    """Answer a question from the memories that `actor` may see, or read memories by id.

    1. check the request; find the group; compute the Visibility
    2. understand the question (words, vector, dates, names, what it collects)
    3. candidates of both searches inside the Visibility, each with its true score in both
    4. score, judge whether there is an answer at all
    5. cut to `max_results` and `token_budget`
    6. count the access, after the answer

    Raises:
        InvalidInput: a field of the request is not allowed; `field` names it.
        GroupRequired, NotPermitted: no group is named, or the actor may not read.
        OutOfTime: it takes longer than ANSWER_S, or the caller has gone.
    """
    check_request(request)
    alias = database_of(None, may_be_old=not actor.needs_latest)
    if alias != DEFAULT_DB_ALIAS:
        try:
            with reading_from(alias):
                return _recall_here(actor, request)
        except OperationalError as error:  # also a query that the replica gave up for a change of the primary
            leave_alone(error)
    return _recall_here(actor, request)


@answering()
def _recall_here(actor: Actor, request: RecallRequest) -> RecallResult:
    """recall() on this thread's database, for a checked request."""
    started = time.perf_counter()
    if request.ids:
        return _recall_ids(actor, request, started=started)
    while True:
        mode = request.mode or settings.LOCI.retrieval.mode
        # It may wait for a loading model, so before taking a slot.
        encoder, degraded = choose_encoder(mode, is_checked_later=True)
        # Do not take a slot inside a transaction: waiting would hold the write lock.
        with nullcontext() if connection.in_atomic_block else CORES.taken(actor.person):
            try:
                answer = _answer_query(actor, request, encoder, degraded=degraded, mode=mode, started=started)
            except ModelUnavailable:
                answer = _answer_query(
                    actor, request, None, degraded=without_model(), mode=mode, started=started
                )
        if answer is not None:
            return answer


def _answer_query(
    actor: Actor, request: RecallRequest, encoder: Encoder | None, *, degraded: str, mode: str, started: float
) -> RecallResult | None:
    """Answer a question; None if a re-embed changed the index's model meanwhile."""
    group = None if request.everywhere else find_known_group(actor, request.group)
    if isinstance(group, UnknownGroup):
        return RecallResult((), group.slug, mode, abstained=True, note=group.note)
    visibility = recallable_by(actor, group, narrowing=request.narrowing)
    trace = Trace()
    if degraded:
        mode = "keyword"
    question = understand(request.query, encoder=encoder, mode=mode, actor=actor)
    trace.add(
        "question",
        terms=list(question.match.terms if question.match else ()),
        mode=mode,
        degraded=degraded,
        **describe_language(question.language),
        read_by_model=question.is_read,
    )
    # A summary stands for events in lists; each of them is found by itself. That of a conversation answers for its time.
    without = {SUMMARY_SOURCE} if question.is_time_alone else SUMMARY_SOURCES
    visibility = replace(
        visibility, without_sources=frozenset(without), tells_ahead=not visibility.is_history
    )
    keys = (group.key,) if group is not None else ()
    try:
        ranking = find_ranking(question, visibility, mode=mode, trace=trace)
    except (ValueError, DatabaseError):  # vectors of two widths are not even compared
        if _is_outdated(question, encoder, read_index_state(keys)):
            return None
        raise
    check_time()
    state = read_index_state(keys)
    if _is_outdated(question, encoder, state):
        return None
    with one_index_state(state):
        frame = Frame(group.slug if group is not None else "", degraded=degraded)
        answer = build_answer(request, ranking, question, visibility, frame, encoder, trace, mode=mode)
        if not visibility.is_history and _any_sleeps(visibility):
            asleep = replace(visibility, states=frozenset({State.DORMANT}))
            waking = trace.branch() if request.explain else Trace()
            sleeping = find_ranking(question, asleep, mode=mode, trace=waking)
            led = sleeping if answer.abstained else sleeping.leading(ranking)
            if led.scores != ranking.scores:
                both = replace(visibility, states=visibility.states | {State.DORMANT})
                other = build_answer(request, led, question, both, frame, encoder, waking, mode=mode)
                answer = answer if other.abstained else other
    if actor.checkout is None and not actor.is_person and any(i.memory.anchor_commit for i in answer.items):
        answer = replace(answer, note=_UNKNOWN_CHECKOUT)
    answer = replace(answer, duration_ms=(time.perf_counter() - started) * 1000)
    if not request.is_trial:
        _count_recall(actor, group, request.query, answer)
    return answer


def _is_outdated(question: Question, encoder: Encoder | None, state: Mapping[str, str]) -> bool:
    """Whether the question's vector is of another model than the index's by now: only vectors of one model compare."""
    if encoder is None or question.vector is None:
        return False
    return state.get("model", "") not in ("", encoder.model_id)


def _any_sleeps(visibility: Visibility) -> bool:
    """Whether a memory of these groups is dormant."""
    groups = visibility.groups or ()
    return _asleep_query(len(groups)).first(*groups) is not None


@cache
def _asleep_query(count: int) -> CompiledQuery[tuple[int]]:
    def make(*groups: int) -> "QuerySet[Memory, tuple[int]]":
        rows = Memory.objects.filter(state=State.DORMANT, **({"group__in": groups} if groups else {}))
        return rows.order_by().values_list("key")[:1]

    return CompiledQuery(make, count)


def _recall_ids(actor: Actor, request: RecallRequest, *, started: float) -> RecallResult:
    """Memories by id, from any group that the actor may enter unless the request names one.

    They are whole, however long, unless the request has a token budget or asks for summaries.
    A former version's id leads to the version that counts now; in a request about the past, any version's id leads to
    the one that was true and known then.
    """
    group = find_known_group(actor, request.group) if request.group else None
    counting = counting_encoder(available_encoder())
    budget = request.token_budget or _UNLIMITED
    if isinstance(group, UnknownGroup):
        unread = tuple(map(str, request.ids))
        frame = Frame(group.slug, note=group.note, missing=unread).with_missing_within(budget, counting)
        return RecallResult(
            (),
            group.slug,
            BY_ID,
            abstained=True,
            note=group.note,
            missing=unread,
            missing_named=frame.missing_named,
            tokens=frame.tokens(counting),
        )
    visibility = recallable_by(actor, group, narrowing=request.narrowing)
    visibility = replace(visibility, states=visibility.states | {State.DORMANT})
    rows = find_rows(actor, request.ids)
    current = _find_current_versions([row for row in rows if row is not None], visibility)
    versions = [current.get(row.key) if row is not None else None for row in rows]
    found_rows = {found.key: found for found in versions if found is not None}
    missing = [str(raw) for raw, found in zip(request.ids, versions, strict=True) if found is None]
    memories = list(found_rows.values())
    slug = group.slug if group else ""
    notes = take_notes(memories, visibility, group=slug)
    frame = Frame(slug, count=len(memories), missing=tuple(missing), by_id=True)
    frame = frame.with_missing_within(budget // 2 if memories else budget, counting)
    fitted = fit_hits(memories, frame, notes, Fitting(budget, counting, request.summary_only))
    answer = RecallResult(
        to_items(fitted.portions, dict.fromkeys(found_rows, 1.0), {}, notes),
        slug,
        BY_ID,
        left_out=len(fitted.left_out),
        tokens=fitted.tokens,
        confidence=Confidence.HIGH.value,
        missing=tuple(missing),
        missing_named=frame.missing_named,
        is_tight=fitted.is_tight,
        duration_ms=(time.perf_counter() - started) * 1000,
    )
    _count_recall(actor, group, " ".join(str(raw) for raw in request.ids), answer)
    return answer


def find_rows(actor: Actor, ids: Sequence[str | UUID]) -> list[Memory | None]:
    """The row of each id, before its visibility is checked; of a short one, the visible row. At most two queries."""
    digits = [parse_short_id(raw) for raw in ids]
    full = [None if short else parse_id(raw, field="ids") for raw, short in zip(ids, digits, strict=True)]
    wanted = Memory.objects.select_related("group", "thread").filter(id__in={id_ for id_ in full if id_})
    by_id = {row.id: row for row in wanted} if any(full) else {}
    ending = find_by_short_ids([short for short in digits if short], listed_by(actor, None), field="ids")
    return [by_id.get(id_) if id_ else ending[short] for id_, short in zip(full, digits, strict=True)]


def _find_current_versions(rows: Sequence[Memory], visibility: Visibility) -> dict[int, Memory]:
    """The version of each row's chain that counts, or was true and known at the Visibility's moment, by the row's key.

    The number of queries does not depend on how many rows there are.
    """
    heads = heads_of(rows)
    if visibility.is_history:
        return versions_at(rows, heads, visibility)
    found = {key: head for key, head in heads.items() if is_visible(head, visibility)}
    # Before the day of a head that is dated ahead, an earlier version counts.
    found |= newest_versions([row for row in rows if row.key not in found], visibility)
    hidden = find_left_out(found.values(), visibility)
    return {key: memory for key, memory in found.items() if memory.key not in hidden}


def _count_recall(actor: Actor, group: Group | None, query: str, answer: RecallResult) -> None:
    """Buffer the recall for the log and the access counters, which are written later."""
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
            user_key=actor.user_id,
        )
    )


def check_request(request: RecallRequest) -> None:
    """Raise InvalidInput or TooLarge if a field of the request is not allowed."""
    if bool(request.query.strip()) == bool(request.ids):
        raise InvalidInput(
            "Pass either a query or ids.", hint="A query is a question in words.", field="query"
        )
    if len(request.ids) > MAX_IDS:
        raise InvalidInput(f"There are {len(request.ids)} ids; at most {MAX_IDS} are allowed.", field="ids")
    if request.query:
        clean_text(request.query, field="query", max_chars=MAX_QUERY_CHARS)
    if request.max_results is not None:
        check_range(request.max_results, 1, MAX_RESULTS, field="max_results")
    if request.token_budget is not None:
        check_range(request.token_budget, MIN_TOKEN_BUDGET, MAX_TOKEN_BUDGET, field="token_budget")
    if request.mode is not None:
        check_choice(request.mode, list(MODES), field="mode")
    check_narrowing(request.narrowing)
