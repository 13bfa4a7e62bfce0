"""The read path: recall() finds the memories worth knowing for a question, explains them, and abstains if there are none."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from access.actor import Actor
from access.errors import InvalidInput
from access.groups import UnknownGroup, find_known_group
from access.models import Group
from access.visibility import Narrowing, Visibility
from memories.draft import check_choice, check_range, check_tags
from memories.embedding import Encoder
from memories.embedding.concurrency import CORES
from memories.language.cleaning import clean_text
from memories.models import Memory
from memories.queries.as_of import newest_version, version_at
from memories.queries.by_key import read_memories
from memories.queries.labels import label_of
from memories.queries.versions import head_of, parse_id
from memories.queries.visibility import as_q, is_visible, recallable_by
from memories.recall.abstention import FILLER_REASON, NOTHING_RELEVANT, is_answerable, is_filler
from memories.recall.budget import Portion, pack
from memories.recall.fusion import MODES
from memories.recall.pipeline import Ranking, current_tuning, gather, score_candidates
from memories.recall.question import Question, understand
from memories.recall.recall_log import COUNTER, PendingRecall
from memories.recall.trace import Trace
from memories.recall.weights import JUDGED_CANDIDATES, MAX_NEAREST
from memories.store.pieces import encoder_for_index, one_index_state, read_index_state
from memories.store.withdrawn.left_out import LEFT_OUT_REASON, find_left_out, find_visible_coming
from memories.types import Type

# Bounds of a request; the fitted numbers are in memories.recall.weights.
MAX_QUERY_CHARS = 4000
MAX_RESULTS = 100
MAX_IDS = 100
MIN_TOKEN_BUDGET, MAX_TOKEN_BUDGET = 50, 100_000
CHANGED_REASON = "it changed or was deleted while the question was answered"


@dataclass(frozen=True)
class RecallRequest:
    """A question, or ids to read in full. None takes the setting's default.

    A trial writes no recall log and counts no access: somebody examines recall itself.
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
    """One memory of an answer. `label` warns about its state or trust; `is_cut`: the text is only a part of it.

    `coming` is the memory that takes its place on a day to come.
    """

    memory: Memory
    text: str
    score: float
    label: str = ""
    is_cut: bool = False
    numbers: dict[str, float] = field(default_factory=dict)
    coming: Memory | None = None


@dataclass(frozen=True)
class RecallResult:
    """An answer, best first. If nothing is relevant, `abstained` is True and `nearest` holds the closest memories.

    `note` says who can make the group if it does not exist for the caller.
    """

    items: tuple[Item, ...]
    group: str
    mode: str
    abstained: bool = False
    nearest: tuple[Item, ...] = ()
    degraded: str = ""
    note: str = ""
    left_out: int = 0
    missing: tuple[str, ...] = ()
    tokens: int = 0
    duration_ms: float = 0.0
    trace: Trace | None = None


def recall(actor: Actor, request: RecallRequest) -> RecallResult:
    """Answer a question from the memories that `actor` may see, or read memories by id.

    1. check the request; find the group; compute the Visibility
    2. understand the question (words, vector, dates, names)
    3. candidates of both searches inside the Visibility, each with its true score in both
    4. fuse, adjust, judge whether there is an answer at all
    5. cut to `max_results` and `token_budget`
    6. count the access, after the answer

    Raises:
        InvalidInput: a field of the request is not allowed; `field` names it.
        GroupRequired, NotPermitted: no group is named, or the actor may not read.
    """
    started = time.perf_counter()
    check_request(request)
    if request.ids:
        return recall_ids(actor, request, started=started)
    while True:
        mode = request.mode or settings.LOCI.retrieval.mode
        encoder, degraded = choose_encoder(mode)  # may wait for a loading model, so before taking a slot
        # Do not take a slot inside a transaction: waiting would hold the write lock.
        with nullcontext() if connection.in_atomic_block else CORES.taken():
            answer = answer_query(actor, request, encoder, degraded=degraded, mode=mode, started=started)
        if answer is not None:
            return answer


def answer_query(
    actor: Actor, request: RecallRequest, encoder: Encoder | None, *, degraded: str, mode: str, started: float
) -> RecallResult | None:
    """Answer a question; None if a re-embed changed the index's model meanwhile."""
    group = find_known_group(actor, request.group)
    if isinstance(group, UnknownGroup):
        return RecallResult((), group.slug, mode, abstained=True, note=group.note)
    visibility = recallable_by(actor, group, narrowing=request.narrowing)
    trace = Trace()
    if degraded:
        mode = "keyword"
    question = understand(request.query, encoder=encoder)
    trace.add(
        "question", terms=list(question.match.terms if question.match else ()), mode=mode, degraded=degraded
    )
    ranking = find_ranking(question, visibility, mode=mode, trace=trace)
    state = read_index_state()
    if (
        encoder is not None
        and question.vector is not None
        and state.get("model", "") not in ("", encoder.model_id)
    ):
        # The query's vector is of another model than the index's by now; only vectors of one model compare.
        return None
    with one_index_state(state):
        judged = judge_and_cut(request, ranking, question, visibility, encoder, trace)
    answer = RecallResult(
        group=group.slug,
        mode=mode,
        degraded=degraded,
        trace=trace if request.explain else None,
        **judged,
        duration_ms=(time.perf_counter() - started) * 1000,
    )
    if not request.is_trial:
        count_recall(actor, group, request.query, answer)
    return answer


def rank(
    question: Question, visibility: Visibility, *, mode: str, trace: Trace
) -> list[tuple[Memory, float]]:
    """The memories inside the Visibility that may answer the question, best first, with their scores."""
    ranked = rank_keys(question, visibility, mode=mode, trace=trace)
    rows = read_visible([key for key, _ in ranked], visibility, trace)
    hidden = find_left_out(rows.values(), visibility)
    return [(rows[key], score) for key, score in ranked if key in rows and key not in hidden]


def rank_keys(
    question: Question, visibility: Visibility, *, mode: str, trace: Trace
) -> list[tuple[int, float]]:
    """rank() by the memories' keys, without reading whole rows."""
    return find_ranking(question, visibility, mode=mode, trace=trace).scores


def find_ranking(question: Question, visibility: Visibility, *, mode: str, trace: Trace) -> Ranking:
    """The ranked candidates of a question, with the weights in use."""
    gathered = gather(question, visibility, mode=mode, trace=trace)
    return score_candidates(gathered, question, mode=mode, tuning=current_tuning(), trace=trace)


def read_visible(keys: Sequence[int], visibility: Visibility, trace: Trace) -> dict[int, Memory]:
    """The memories' rows by key, without those that left the Visibility after the search found them."""
    rows = read_memories(keys)
    visible = {key: row for key, row in rows.items() if is_visible(row, visibility)}
    if len(visible) < len(keys):
        for key in keys:
            if key not in visible:
                trace.drop(key, CHANGED_REASON)
    return visible


def read_best(
    ranking: Ranking, visibility: Visibility, depth: int, trace: Trace
) -> tuple[dict[int, Memory], Ranking]:
    """The rows of the best `depth` memories by key, and the ranking without what the group has withdrawn."""
    keys = [key for key, _ in ranking.scores]
    rows, withdrawn, at = dict[int, Memory](), set[int](), 0
    while at == 0 or (at < len(keys) and len(rows) < depth):
        read = read_visible(keys[at : at + depth], visibility, trace)
        hidden = find_left_out(read.values(), visibility)
        rows |= {key: row for key, row in read.items() if key not in hidden}
        withdrawn |= hidden
        at += depth
        if not hidden:
            break
    if not withdrawn:
        return rows, ranking
    for key in withdrawn:
        trace.drop(key, LEFT_OUT_REASON)
    scores = [(key, score) for key, score in ranking.scores if key not in withdrawn]
    candidates = {key: found for key, found in ranking.candidates.items() if key not in withdrawn}
    return rows, replace(ranking, scores=scores, candidates=candidates)


def judge_and_cut(
    request: RecallRequest,
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    encoder: Encoder | None,
    trace: Trace,
) -> dict[str, Any]:
    """Judge and cut the ranked memories: the fields of RecallResult that depend on them."""
    limit = request.max_results or settings.LOCI.retrieval.max_results
    budget = request.token_budget or settings.LOCI.retrieval.token_budget
    depth = max(limit, JUDGED_CANDIDATES)
    rows, ranking = read_best(ranking, visibility, depth, trace)
    best = [rows[key] for key, _ in ranking.scores if key in rows]
    is_found = is_answerable(question, ranking, best, trace)
    if is_found:
        chosen = [memory for memory in best if not is_filler(memory.key, ranking, question)][:limit]
    else:
        chosen = best[:MAX_NEAREST]
    if request.explain:
        trace_left_out(chosen, ranking, question, limit=limit, is_found=is_found, trace=trace)
    summary_only = request.summary_only or not is_found
    portions, left_out = pack(chosen, token_budget=budget, encoder=encoder, summary_only=summary_only)
    for memory in left_out:
        trace.drop(memory.key, f"the token budget of {budget}")
    coming = find_visible_coming((portion.memory for portion in portions), visibility)
    items = to_items(portions, dict(ranking.scores), trace.numbers if request.explain else {}, coming)
    return {
        "items": items if is_found else (),
        "nearest": () if is_found else items,
        "abstained": not is_found,
        "left_out": len(left_out),
        "tokens": sum(portion.tokens for portion in portions),
    }


def to_items(
    portions: Sequence[Portion],
    scores: Mapping[int, float],
    numbers: Mapping[int, dict[str, float]],
    coming: Mapping[int, Memory],
) -> tuple[Item, ...]:
    """The portions with their labels, and their scores, numbers and successors to come by key."""
    return tuple(
        Item(
            memory=portion.memory,
            text=portion.text,
            score=round(scores[portion.memory.key], 4),
            label=label_of(portion.memory),
            is_cut=portion.is_cut,
            numbers=numbers.get(portion.memory.key, {}),
            coming=coming.get(portion.memory.key),
        )
        for portion in portions
    )


def trace_left_out(
    chosen: list[Memory], ranking: Ranking, question: Question, *, limit: int, is_found: bool, trace: Trace
) -> None:
    """Record everything that keeps each other candidate out, so that nobody raises a limit in vain."""
    settled = {memory.key for memory in chosen} | trace.dropped.keys()
    for at, (key, _) in enumerate(ranking.scores):
        if key in settled:
            continue
        beyond = [f"beyond the first {limit}"] if at >= limit else []
        filler = [FILLER_REASON] if is_filler(key, ranking, question) else []
        trace.drop(key, " and ".join([*beyond, *filler]) if is_found else NOTHING_RELEVANT)


def recall_ids(actor: Actor, request: RecallRequest, *, started: float) -> RecallResult:
    """Memories in full by id, from any group that the actor may enter unless the request names one.

    A former version's id leads to the version that counts now; in a request about the past, any version's id leads to
    the one that was true and known then.
    """
    group = find_known_group(actor, request.group) if request.group else None
    if isinstance(group, UnknownGroup):
        unread = tuple(map(str, request.ids))
        return RecallResult((), group.slug, "ids", abstained=True, note=group.note, missing=unread)
    visibility = recallable_by(actor, group, narrowing=request.narrowing)
    items: dict[int, Item] = {}
    missing: list[str] = []
    for raw in request.ids:
        row = Memory.objects.filter(id=parse_id(raw, field="ids")).first()
        found = find_current_version(row, visibility) if row else None
        if found is None:
            missing.append(str(raw))
        else:
            coming = find_visible_coming([found], visibility).get(found.key)
            items[found.key] = Item(found, found.content, 1.0, label_of(found), coming=coming)
    answer = RecallResult(
        tuple(items.values()),
        group.slug if group else "",
        "ids",
        missing=tuple(missing),
        duration_ms=(time.perf_counter() - started) * 1000,
    )
    count_recall(actor, group, " ".join(str(raw) for raw in request.ids), answer)
    return answer


def find_current_version(row: Memory, visibility: Visibility) -> Memory | None:
    """The version of the row's chain that counts, or was true and known at the Visibility's moment."""
    if visibility.is_history:
        return version_at(row, visibility)
    rows = Memory.objects.select_related("group", "thread").filter(as_q(visibility))
    # Before the day of a head that is dated ahead, an earlier version counts.
    found = rows.filter(key=head_of(row).key).first() or newest_version(row, visibility)
    return None if found is not None and find_left_out([found], visibility) else found


def count_recall(actor: Actor, group: Group | None, query: str, answer: RecallResult) -> None:
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
        )
    )


def choose_encoder(mode: str) -> tuple[Encoder | None, str]:
    """The encoder if there is one for the index, and why recall falls back to keywords if the mode needs one in vain."""
    encoder, indexed = encoder_for_index()
    if mode == "keyword":
        return encoder, ""
    if encoder is None:
        return None, "keyword only: the embedding model is not ready yet ('loci model status' says why)"
    if indexed not in ("", encoder.model_id):
        return (
            None,
            f"keyword only: the index holds vectors of {indexed}, not of the installed model; install that one again ('loci model install')",
        )
    return encoder, ""


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


def check_narrowing(narrowing: Narrowing) -> None:
    """Raise InvalidInput if a filter's value is not allowed."""
    for type_ in sorted(narrowing.types):
        check_choice(type_, Type.values, field="types")
    if narrowing.scope:
        check_choice(narrowing.scope, ["global", "group"], field="scope")
    check_tags(tuple(narrowing.tags))
    check_range(narrowing.min_confidence, 0, 1, field="min_confidence")
