"""Weeks: which old events share a summary, and which of them may go behind theirs."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Concat

from maintenance.cycle.step import Turn
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.queries.labels import is_doubted
from memories.queries.snapshot import RELATED_ROWS
from memories.store.derived import standing
from memories.types import SUMMARY_SOURCES, VISIBLE_TRUSTS, Scope, State, Trust, Type

AT_LEAST: Final = 5  # events for a summary; a week with fewer joins the next one
_LAST_DAYS: Final = 14  # until events of a last, short week join the week before
_INDEX_DAYS: Final = 90  # until events go behind an index, which says less than a summary
_MONTH_DAYS: Final = 365  # until the summaries of weeks go behind one of their month


class Week(NamedTuple):
    """The events, or for a month the summaries, that one summary is about: in order of time, all of one scope.

    `replaces` is the key of the week's former summary, if it has events now that this one does not name. A run's cursor has
    it as a list.
    """

    first: str  # "2026-W19", or of a month "2026-05"
    scope: str
    keys: Sequence[int]
    replaces: int | None = None

    @property
    def is_month(self) -> bool:
        """True if its keys are summaries."""
        return "W" not in self.first


def week_of(moment: datetime) -> str:
    """The ISO week of a moment."""
    year, week, _ = moment.isocalendar()
    return f"{year:04d}-W{week:02d}"


def summaries(turn: Turn) -> QuerySet[Memory]:
    """The group's summaries that stand for events now."""
    return Memory.objects.filter(standing(), group=turn.group)


def quotable(turn: Turn, scope: str) -> QuerySet[Memory]:
    """What a summary of this scope may quote: not what moved, became narrower or was held back since it was found."""
    here = Memory.objects.filter(group=turn.group, scope__in=[scope, Scope.GLOBAL])
    return here.filter(state=State.LIVE, trust__in=VISIBLE_TRUSTS).select_related("group", "thread")


def _compactable_events(turn: Turn) -> Any:
    """The group's events that may go behind a summary, annotated with `at`, when they happened.

    Old, active and unpinned events without an end date. Excluded are summaries, events with an open conflict or doubt, and
    those that a person or an agent took out of a summary: who restores one wants it whole.
    """
    taken_out = _links_to_event(LinkKind.DERIVED).filter(status=LinkStatus.DISMISSED)
    in_conflict = _links_to_event(LinkKind.CONFLICT).filter(status=LinkStatus.OPEN)
    return (
        Memory.objects.filter(
            group=turn.group,
            type=Type.EPISODIC,
            state=State.LIVE,
            trust=Trust.ACTIVE,
            pinned=False,
            expires_at=None,
            summary=None,
        )
        .annotate(at=Coalesce(F("valid_from"), F("created_at")))
        .filter(
            ~Q(source__in=SUMMARY_SOURCES),
            ~Exists(taken_out),
            ~Exists(in_conflict),
            ~is_doubted(),
            at__lt=turn.now - timedelta(days=turn.limits.compact_after_days),
        )
    )


def _naming_links() -> QuerySet[Link]:
    """The links by which a summary of its group that stands now names the event of the outer query."""
    return _links_to_event(LinkKind.DERIVED).filter(
        standing("source__"), source__group=OuterRef("group"), status=LinkStatus.OPEN
    )


def _links_to_event(kind: str) -> QuerySet[Link]:
    """Links of a kind that lead to the event of the outer query.

    The kind is compared as an expression: otherwise SQLite walks all links of the kind for each event, instead of the
    few that lead to it (12 s in a group of 20,000).
    """
    links = Link.objects.filter(target_id=Coalesce(OuterRef("root_id"), OuterRef("key")))
    return links.alias(named=Concat("kind", Value(""))).filter(named=kind)


def find_torn(turn: Turn) -> list[Memory]:
    """The group's summaries that name what no longer counts here, or is behind another; and what else events are behind.

    The verbs withdraw them at once. What an undo takes away, or a store from before them, is found here.
    """
    now = Memory.objects.filter(
        group=turn.group, type=Type.EPISODIC, state=State.LIVE, trust__in=VISIBLE_TRUSTS
    )
    behind = {root or key: summary for key, root, summary in now.values_list("key", "root", "summary")}
    here = {*summaries(turn).values_list("key", flat=True)}
    open_links = Link.objects.filter(source__group=turn.group, kind=LinkKind.DERIVED, status=LinkStatus.OPEN)
    named = open_links.filter(standing("source__")).values_list("source", "target")
    torn = {key for key, root in named if behind.get(root, 0) not in (None, key)}
    fallen = {*behind.values()} - {None} - here
    return list(Memory.objects.filter(key__in=torn | fallen).select_related(*RELATED_ROWS).order_by("key"))


def read_behind(summaries: Sequence[Memory]) -> list[Memory]:
    """The events behind these summaries, in order of time."""
    rows = Memory.objects.filter(summary__in=summaries, state=State.LIVE).select_related("group", "thread")
    return sorted(rows, key=lambda row: (row.moment, row.key))


def find_weeks(turn: Turn) -> list[Week]:
    """The weeks with events that no summary names, in order: of a week that has a summary, all its events anew.

    A week with fewer than AT_LEAST events joins the next one, or if none has come for _LAST_DAYS the one before.
    """
    rows = _compactable_events(turn).filter(~Exists(_naming_links())).order_by("scope", "at", "key")
    columns = rows.values_list("key", "scope", "at")
    known = _summaries_by_week(turn)
    found, late = list[Week](), dict[int, list[int]]()
    for scope, own in groupby(columns.iterator(chunk_size=2000), key=lambda row: row[1]):
        first, keys, last = "", list[int](), turn.now
        for week, events in groupby(own, key=lambda row: week_of(row[2])):
            rows_of_week = list(events)
            new, last = [key for key, _, _ in rows_of_week], rows_of_week[-1][2]
            if summary := known.get((scope, week)):
                late.setdefault(summary, []).extend(new)
                continue
            first, keys = first or week, keys + new
            if len(keys) >= AT_LEAST:
                found.append(Week(first, scope, tuple(keys)))
                first, keys = "", []
        if last >= turn.now - timedelta(days=turn.limits.compact_after_days + _LAST_DAYS):
            continue
        before = [(week, key) for (of, week), key in known.items() if of == scope and week < first]
        week, summary = max(before, default=("", 0))
        if keys and found and found[-1].scope == scope and found[-1].first > week:
            found[-1] = found[-1]._replace(keys=(*found[-1].keys, *keys))
        elif summary:
            late.setdefault(summary, []).extend(keys)
    return [*found, *_weeks_anew(turn, late)]


def _summaries_by_week(turn: Turn) -> dict[tuple[str, str], int]:
    """The key of the summary of each week that has one, by scope and week."""
    rows = summaries(turn).order_by("key").values_list("key", "scope", "metadata")
    return {(scope, week): key for key, scope, about in rows for week in about.get("weeks", ())}


def _weeks_anew(turn: Turn, late: Mapping[int, list[int]]) -> Iterator[Week]:
    """The weeks whose summaries have to name more events than they do."""
    for summary in Memory.objects.filter(key__in=late).order_by("key"):
        named = Link.objects.filter(source=summary.root_key, kind=LinkKind.DERIVED, status=LinkStatus.OPEN)
        roots = [*named.values_list("target", flat=True)]
        among = Q(key__in=[*roots, *late[summary.key]]) | Q(root__in=roots)
        at = Coalesce(F("valid_from"), F("created_at"))
        rows = quotable(turn, summary.scope).filter(among).annotate(at=at).order_by("at", "key")
        keys = tuple(rows.values_list("key", flat=True))
        yield Week(summary.metadata["weeks"][0], summary.scope, keys, summary.key)


def find_months(turn: Turn) -> list[Week]:
    """The months, all of whose weeks ended long ago, with the summaries of at least two weeks."""
    ended = summaries(turn).filter(summary=None, valid_to__lt=turn.now - timedelta(days=_MONTH_DAYS))
    rows = ended.exclude(metadata__has_key="months").order_by("scope", "valid_from", "key")
    months = groupby(
        rows.values_list("key", "scope", "valid_from"), key=lambda row: (row[1], f"{row[2]:%Y-%m}")
    )
    found = [Week(month, scope, tuple(key for key, _, _ in own)) for (scope, month), own in months]
    return [month for month in found if len(month.keys) > 1]


def find_named(turn: Turn) -> Any:
    """The events, by key, that may go behind the summary that names them, `named`: behind an index after _INDEX_DAYS."""
    naming = _naming_links()
    is_full = Exists(naming.filter(source__metadata__form="summary"))
    rows = _compactable_events(turn).filter(
        Exists(naming), is_full | Q(at__lt=turn.now - timedelta(days=_INDEX_DAYS))
    )
    return rows.annotate(named=Subquery(naming.order_by("-source").values("source")[:1])).order_by("key")
