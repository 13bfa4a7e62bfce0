"""What changed in a group, day by day, in sentences from the audit log, each with its undo."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from access.actor import Actor, Via
from access.admin.columns import in_words, join_clauses, join_list
from access.admin.day_range import local_moment
from access.audit.operations import BATCHES, Operation
from access.models import AuditEntry, Group, RowChange
from loci_site.admin.explore.page import query_text
from loci_site.admin.groups.tabs import render_tab
from maintenance.admin.runs import may_undo
from maintenance.models import Run
from maintenance.runs.wording import format_counts
from memories.browse.history import SHOWN_FIELDS, changed_fields, read_changes
from memories.browse.listing import list_log, quarantined_chains
from memories.entities.statements import visible_statements
from memories.language.word_diff import DiffPart, diff_words
from memories.lifecycle import verbs
from memories.models import Memory
from memories.queries.visibility import as_q, listed_by
from memories.review.decide import DECISIONS, take_back
from memories.types import State, Trust
from relations.models import Relation
from relations.walk import Edge

_PER_PAGE: Final = 30  # log rows; a correction has two
_RELATION = "relation:"  # before the id in the subject of a log row
# What a change did, the most telling of its log rows first.
_SAID: Final[dict[str, str]] = {
    Operation.EDIT: gettext_noop("{who} corrected"),
    Operation.MERGE: gettext_noop("{who} merged"),
    Operation.RETRACT: gettext_noop("{who} withdrew as wrong"),
    Operation.RESTORE: gettext_noop("{who} brought back"),
    Operation.FORGET: gettext_noop("{who} forgot"),
    Operation.SUPERSEDE: gettext_noop("{who} replaced"),
    Operation.MOVE: gettext_noop("{who} moved"),
    Operation.NARROW: gettext_noop("{who} changed who sees"),
    Operation.PURGE: gettext_noop("{who} destroyed"),
    Operation.VERIFY: gettext_noop("{who} verified"),
    Operation.TRUST: gettext_noop("{who} changed the trust of"),
    Operation.DISPUTE: gettext_noop("{who} doubted"),
    Operation.PIN: gettext_noop("{who} pinned"),
    Operation.UNPIN: gettext_noop("{who} unpinned"),
    Operation.STORE: gettext_noop("{who} stored"),
    Operation.REINFORCE: gettext_noop("{who} confirmed"),
    Operation.REFUSE: gettext_noop("{who} was refused"),
    Operation.RELATE: gettext_noop("{who} related"),
    Operation.PROPOSE: gettext_noop("{who} proposed or decided a change"),
    Operation.CHECKPOINT: gettext_noop("{who} saved where the work stands"),
    Operation.IMPORT: gettext_noop("{who} imported"),
    Operation.INGEST: gettext_noop("{who} read files"),
    Operation.EXPORT: gettext_noop("{who} exported"),
    Operation.THREAD: gettext_noop("{who} changed a conversation"),
    Operation.GROUP: gettext_noop("{who} changed the group"),
    Operation.MEMBER: gettext_noop("{who} changed the members"),
    Operation.LINK: gettext_noop("{who} compared"),
}
_RANK: Final = {operation: place for place, operation in enumerate(_SAID)}


@dataclass(frozen=True)
class _Item:
    """What one change was about: a text or the words that differ, and how it is taken back.

    `entry` names the log row for take_back(); `forget` is the id of a new memory, which forgetting takes back.
    """

    text: str = ""
    url: str = ""
    parts: tuple[DiffPart, ...] = ()
    note: str = ""
    entry: str = ""
    forget: str = ""


@dataclass
class _Line:
    """A sentence of the feed, with what it is about."""

    at: datetime
    said: str
    items: list[_Item] = field(default_factory=list)
    url: str = ""  # of what a run did here
    undo_url: str = ""  # of the run

    @property
    def day(self) -> date:
        """In the reader's time zone."""
        return local_moment(self.at).date()


def show_changes(request: HttpRequest, actor: Actor, group: Group) -> HttpResponse:
    """A page of the changes, newest first; takes one back on POST."""
    if request.method == "POST":
        return _undo(request, actor)
    page = list_log(actor, group=group.slug, cursor=query_text(request, "cursor"), limit=_PER_PAGE)
    lines = _Feed(actor, group, page.rows).lines()
    days = [(day, list(own)) for day, own in groupby(lines, key=lambda line: line.day)]
    return render_tab(request, group, "changes", {"days": days, "next": page.next})


def _undo(request: HttpRequest, actor: Actor) -> HttpResponse:
    if entry := request.POST.get("entry", ""):
        lines = take_back(actor, [entry])
    else:
        lines = verbs.forget(actor, request.POST.get("forget", ""), reason="undone in the group").consequences
    messages.success(request, gettext("Taken back: {consequences}.").format(consequences=join_clauses(lines)))
    return HttpResponseRedirect(request.get_full_path())


class _Feed:
    """The sentences of log rows, with what they name read in few queries."""

    def __init__(self, actor: Actor, group: Group, entries: Sequence[AuditEntry]) -> None:
        self._entries, self._curates = entries, actor.decides(group.key)
        ids = {id_ for entry in entries for id_ in (entry.memory_id, _successor(entry)) if id_}
        seen = Memory.objects.filter(as_q(listed_by(actor, None)), id__in=ids)
        self._memories: Mapping[UUID | None, Memory] = seen.in_bulk(field_name="id")
        self._held = quarantined_chains({memory.root_key for memory in self._memories.values()})
        subjects = {entry.subject.removeprefix(_RELATION) for entry in entries if _is_relation(entry)}
        rows = Relation.objects.filter(id__in=subjects).select_related("subject", "object", "group")
        shown = visible_statements(actor, [Edge(row, 1) for row in rows]) if subjects else []
        self._relations = {
            f"{_RELATION}{each.relation.id}": each.sentence
            for each in shown
            if Trust.QUARANTINED not in (each.subject.trust, each.object.trust)
        }
        changes = {entry.change for entry in entries if entry.change is not None}
        standing = RowChange.objects.filter(change__in=changes if self._curates else [], undone_by=None)
        self._standing = set(standing.order_by().values_list("change", flat=True).distinct())
        runs = Run.objects.filter(id__in={entry.run for entry in entries if entry.run})
        self._undoable_runs = {run.id for run in runs if may_undo(actor, run)}

    def lines(self) -> list[_Line]:
        """One sentence for each change; changes that follow each other with the same sentence share it."""
        found: list[_Line] = []
        last: object = None
        for entry in self._main_entries():
            line = self._line(entry)
            kind = (line.said, line.day, entry.run)
            if kind != last or line.url:
                found.append(line)
            if item := self._item(entry):
                found[-1].items.append(item)
            last = kind
        return found

    def _main_entries(self) -> Iterable[AuditEntry]:
        """The most telling row of each change, in order; rows of no change, and of a run's steps, stand for themselves."""
        best: dict[object, AuditEntry] = {}
        for entry in self._entries:
            key = entry.key if entry.change is None or entry.run else entry.change
            if key not in best or _rank(entry) < _rank(best[key]):
                best[key] = entry
        return best.values()

    def _line(self, entry: AuditEntry) -> _Line:
        if entry.operation in BATCHES.values():
            counts = {name: count for name, count in entry.payload.items() if isinstance(count, int)}
            said = gettext("{who}: {counts}").format(who=_who(entry), counts=format_counts(counts))
            url = reverse("admin:maintenance_run_batch", args=[entry.name])
            is_undoable = entry.run in self._undoable_runs
            undo_url = reverse("admin:maintenance_run_undo", args=[entry.run]) if is_undoable else ""
            return _Line(entry.at, said, url=url, undo_url=undo_url)
        said = _SAID.get(entry.operation, gettext_noop("{who}: {what}"))
        if entry.payload.get("undone"):
            said = gettext_noop("{who} took back")
        return _Line(entry.at, gettext(said).format(who=_who(entry), what=in_words(entry.operation)))

    def _item(self, entry: AuditEntry) -> _Item | None:
        """What the row is about, as far as the reader may see it."""
        if _is_relation(entry):
            return _Item(text=self._relations[entry.subject]) if entry.subject in self._relations else None
        if entry.memory_id is None:
            note = _note_on_group(entry)
            return _Item(note=note) if note else None
        memory = self._memories.get(entry.memory_id)
        if memory is None:
            return _Item(text=gettext("[a memory that you cannot see, or that was destroyed]"))
        parts, note = self._differences(entry, memory)
        is_undoable = entry.change in self._standing and not entry.payload.get("undone")
        is_new = entry.operation == Operation.STORE and memory.state == State.LIVE
        return _Item(
            text=gettext("[quarantined]") if memory.root_key in self._held else memory.content,
            url=reverse("admin:memories_memory_change", args=[memory.id]),
            parts=parts,
            note=note,
            entry=entry.name if is_undoable and entry.operation in DECISIONS else "",
            forget=str(memory.id) if self._curates and is_new else "",
        )

    def _differences(self, entry: AuditEntry, memory: Memory) -> tuple[tuple[DiffPart, ...], str]:
        """The words that a change replaced, and its other fields before and after."""
        new = self._memories.get(_successor(entry))
        if self._held & {memory.root_key, (new or memory).root_key}:
            return (), ""
        if new is not None and new != memory:
            return diff_words(memory.content, new.content), ""
        if entry.operation != Operation.EDIT:
            return (), ""
        content = changed_fields(entry.payload).get("content")
        return diff_words(*content) if content else (), join_clauses(
            f"{in_words(each.name)}: {each.before} → {each.after}"
            for each in read_changes(entry.payload, SHOWN_FIELDS)
        )


def _is_relation(entry: AuditEntry) -> bool:
    return entry.subject.startswith(_RELATION)


def _rank(entry: AuditEntry) -> int:
    return _RANK.get(entry.operation, len(_RANK))


def _successor(entry: AuditEntry) -> UUID | None:
    """The memory that replaced the one of the row, if it says so."""
    if entry.operation not in (Operation.SUPERSEDE, Operation.MERGE, Operation.RETRACT):
        return None
    by = entry.payload.get("by") or entry.payload.get("into")
    return UUID(by) if by else None


def _note_on_group(entry: AuditEntry) -> str:
    """What a row about no memory says: the fields of the group, the member and the role, or its subject."""
    payload: Mapping[str, Any] = entry.payload
    if entry.operation == Operation.MEMBER:
        return join_list(filter(None, [payload.get("user"), in_words(payload.get("role", ""))]))
    if changed := read_changes(payload):
        return join_list(in_words(each.name) for each in changed)
    return entry.subject.partition(":")[2]


def _who(entry: AuditEntry) -> str:
    """Who made a change: a person, an agent of a person, or maintenance."""
    user, _, token = entry.actor.partition("/")
    if entry.via == Via.JOB:
        return gettext("The nightly run") if entry.run else gettext("Maintenance")
    return gettext("Agent {agent} of {user}").format(agent=token, user=user) if token else user
