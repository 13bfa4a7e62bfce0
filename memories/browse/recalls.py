"""The recall log as people and programs read it: who asked what, and what came back.

A caller reads its own recalls and those of the groups that it may curate: a question can say more than a memory.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from access.actor import CURATE, READ, Actor, named
from access.answers import Answer, ShownAs, Untrusted
from access.errors import InvalidInput, NotFound, NotPermitted
from access.groups import find_group
from access.models import Group
from memories.browse.serializers import WITHHELD
from memories.language.cleaning import clean_line, fold
from memories.language.dress import fold_hash
from memories.models import Memory, RecallLog
from memories.models.text_lookup import fold_start, fold_starts_with_any
from memories.queries.pages import DEFAULT_LIMIT, Page, make_cursor, page_of, parse_cursor
from memories.queries.visibility import as_q, listed_by
from memories.recall_log import unpack_hits
from memories.search.query_terms import STOP_WORDS, words
from memories.types import Scope, State, Trust

MAX_QUESTION_CHARS: Final = 500
LOOKED_THROUGH: Final = 5000  # newest recalls in which a memory is looked for
_MAX_QUESTIONS: Final = 20


@dataclass(frozen=True)
class LoggedRecall:
    """A recall of the log with its results that the caller may see, best first, and the number of the others."""

    row: RecallLog
    hits: tuple[tuple[Memory, float], ...]
    unseen: int

    @property
    def id(self) -> str:
        """The public name. The key stays inside: it would tell how often all groups ask."""
        return recall_id(self.row)


@dataclass(frozen=True)
class AskedQuestion:
    """A question as it was last worded: how often it was asked, how often without an answer, and its newest recall."""

    question: str
    times: int
    missed: int
    last: datetime
    group: str | None
    recall: RecallLog


@dataclass(frozen=True)
class QuestionThatFound:
    """A question that returned a memory: when it was asked, the last time first, and the best score."""

    question: str
    moments: tuple[datetime, ...]
    score: float
    recall: RecallLog


def recall_id(row: RecallLog) -> str:
    """The public name of a logged recall, which is also the cursor of the recalls before it."""
    return make_cursor(row.key, of=RecallLog)


def visible_recalls(actor: Actor) -> Q:
    """Condition: a recall of the actor's own, or of a group that it may curate."""
    if not actor.may(READ):
        raise NotPermitted("You may not read recalls.", hint="Use a token with the scope 'read'.")
    if (curated := actor.keys_where(CURATE)) is None:
        return Q()
    own = named(actor.name, "actor") if actor.is_person else Q(actor=actor.name)
    return own | Q(group__in=curated)


def list_recalls(
    actor: Actor,
    *,
    question: str = "",
    group: str | None = None,
    since: datetime | None = None,
    cursor: str = "",
    limit: int = DEFAULT_LIMIT,
) -> Page[RecallLog]:
    """A page of the recalls that the actor may read, newest first. `question` is a part of the question.

    Raises:
        InvalidInput: a filter, the cursor or the limit is not allowed.
        GroupNotFound, NotPermitted: the group is missing or closed to the actor.
    """
    rows = RecallLog.objects.filter(visible_recalls(actor)).select_related("group")
    if part := clean_line(question, field="question", max_chars=MAX_QUESTION_CHARS):
        rows = rows.filter(query__icontains=part)
    if group:
        rows = rows.filter(group=find_group(actor, group))
    if since is not None:
        rows = rows.filter(at__gte=since)
    return page_of(rows, cursor=cursor, limit=limit)


def find_recall(actor: Actor, id_: str) -> RecallLog:
    """The logged recall of this id.

    Raises:
        InvalidInput: it is not the id of a recall.
        NotFound: the actor may read no such recall; old ones are deleted (maintenance.recall_log_days).
    """
    visible = visible_recalls(actor)
    try:
        key = parse_cursor(id_.strip(), of=RecallLog)
    except InvalidInput:
        line, hint = f"'{id_[:40]}' is not the id of a recall.", "The list of recalls has the ids."
        raise InvalidInput(line, hint=hint, field="recall") from None
    row = RecallLog.objects.filter(visible, key=key).select_related("group").first()
    if row is None:
        raise NotFound(
            "No recall of that id, or you don't have access.",
            hint="Recalls are deleted after maintenance.recall_log_days.",
            field="recall",
        )
    return row


def with_hits(actor: Actor, rows: Collection[RecallLog]) -> list[LoggedRecall]:
    """The recalls with those of their results that the actor may see now, in any state."""
    if not actor.is_person:
        _withhold_quarantined(rows)
    scores = {row.key: unpack_hits(bytes(row.hits)) for row in rows}
    keys = {key for hits in scores.values() for key, _ in hits}
    seen = Memory.objects.filter(as_q(listed_by(actor, None)), key__in=keys).select_related("group").in_bulk()
    found = []
    for row in rows:
        hits = tuple((seen[key], score) for key, score in scores[row.key] if key in seen)
        found.append(LoggedRecall(row, hits, len(scores[row.key]) - len(hits)))
    return found


def _withhold_quarantined(rows: Collection[RecallLog]) -> None:
    """Take the questions away that are the text of a memory which is quarantined where they were asked."""
    folds = {row.key: fold_hash(row.query) for row in rows}
    starts = sorted({fold_start(fold) for fold in folds.values()})
    held = Memory.objects.filter(fold_starts_with_any(starts), trust=Trust.QUARANTINED)
    found = set(held.values_list("fold_hash", "group_id", "scope"))
    for row in rows:
        if any(
            fold == folds[row.key] and (scope == Scope.GLOBAL or row.group_id in (None, group))
            for fold, group, scope in found
        ):
            row.query = WITHHELD


def recent_recalls(actor: Actor, *, group: Group | None = None, since: datetime) -> QuerySet[RecallLog]:
    """The recalls since then that the actor may read, among the newest LOOKED_THROUGH (of the group), whoever asked."""
    newest = RecallLog.objects.order_by("-key")
    if group is not None:
        newest = newest.filter(group=group)
    looked_through = newest.values("key")[:LOOKED_THROUGH]
    return RecallLog.objects.filter(visible_recalls(actor), key__in=looked_through, at__gte=since)


def grouped_questions(
    actor: Actor, *, group: Group | None = None, since: datetime, limit: int = 20, missed_only: bool = False
) -> list[AskedQuestion]:
    """The questions asked since then in one group, or anywhere, that the actor may read, the last asked first.

    Questions of one group are the same if they have the same words besides stop words. `missed_only`: those whose newest
    recall had no answer. Of recent_recalls().
    """
    asked: dict[tuple[int | None, frozenset[str]], list[tuple[int, bool]]] = {}
    rows = recent_recalls(actor, group=group, since=since).order_by("-key")
    for key, place, query, abstained in rows.values_list("key", "group_id", "query", "abstained"):
        asked.setdefault((place, _words_of_question(query)), []).append((key, abstained))
    found = [recalls for recalls in asked.values() if recalls[0][1] or not missed_only][:limit]
    logged = RecallLog.objects.select_related("group").in_bulk([recalls[0][0] for recalls in found])
    if not actor.is_person:
        _withhold_quarantined(logged.values())
    return [
        AskedQuestion(
            question=(recall := logged[recalls[0][0]]).query,
            times=len(recalls),
            missed=sum(abstained for _, abstained in recalls),
            last=recall.at,
            group=recall.group.slug if recall.group else None,
            recall=recall,
        )
        for recalls in found
    ]


def _words_of_question(query: str) -> frozenset[str]:
    found = words(fold(query))
    return (
        frozenset(word for word in found if word not in STOP_WORDS) or frozenset(found) or frozenset({query})
    )


def questions_that_found(actor: Actor, keys: Collection[int]) -> list[QuestionThatFound]:
    """The questions that returned one of these memories (by key), the last asked first, as far as the actor may read them.

    The newest LOOKED_THROUGH recalls that the actor may read are looked through.
    """
    rows = RecallLog.objects.filter(visible_recalls(actor)).exclude(hits=b"").order_by("-key")
    wanted = set(keys)
    found: dict[int, float] = {}
    for row, hits in rows.values_list("key", "hits")[:LOOKED_THROUGH]:
        scores = [score for key, score in unpack_hits(bytes(hits)) if key in wanted]
        if scores:
            found[row] = max(scores)
    asked: dict[str, QuestionThatFound] = {}
    for recall in RecallLog.objects.filter(key__in=found).select_related("group").order_by("-key"):
        first = asked.get(recall.query) or QuestionThatFound(recall.query, (), 0, recall)
        best = max(first.score, found[recall.key])
        asked[recall.query] = replace(first, moments=(*first.moments, recall.at), score=best)
    return list(asked.values())[:_MAX_QUESTIONS]


class HitOut(Answer):
    """A memory that a recall returned, as it is now."""

    id: Annotated[UUID, ShownAs(lambda hit, _: hit[0].id)]
    score: Annotated[float, ShownAs(lambda hit, _: hit[1], digits=4)]
    state: Annotated[State, ShownAs(lambda hit, _: hit[0].state)]


class LoggedRecallOut(Answer):
    """A recall of the log; `hits` are the results that the caller may see, best first, `unseen` the number of the others."""

    id: str
    at: Annotated[datetime, ShownAs("row.at")]
    question: Annotated[str, ShownAs("row.query")]
    untrusted: Untrusted
    group: Annotated[str | None, ShownAs("row.group.slug")]
    actor: Annotated[str, ShownAs("row.actor")]
    via: Annotated[str, ShownAs("row.via")]
    mode: Annotated[str, ShownAs("row.mode")]
    abstained: Annotated[bool, ShownAs("row.abstained")]
    degraded: Annotated[bool, ShownAs("row.degraded")]
    duration_ms: Annotated[float, ShownAs("row.duration_ms", digits=2)]
    hits: tuple[HitOut, ...]
    unseen: int
