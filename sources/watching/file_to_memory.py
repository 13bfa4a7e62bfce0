"""From file to memory: new sections are stored, changed ones become versions, conflicts become proposals."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import LociError
from access.groups import EVERYONE
from memories.draft import Draft, EditDraft, check_draft
from memories.lifecycle.edit import EditOutcome, edit
from memories.lifecycle.propose import FILE_TEXT, propose
from memories.models import Memory, Proposal, ProposalStatus
from memories.queries.versions import heads_of
from memories.review.instructions import propose_instructions
from memories.store.bulk import store_many
from memories.types import WITHDRAWN_TRUSTS, Scope, State
from sources.importing.formats.notes.instructions import instruction_text, is_instruction
from sources.importing.reading.values import ref_of
from sources.models import WatchedFile, WatchedFolder, WatchedSection
from sources.watching.folders import SOURCE
from sources.watching.missing import confirm_again
from sources.watching.note_text import NoteText, SectionText
from storage.bulk import batches

ROWS_AT_ONCE = 500


@dataclass(frozen=True)
class NewSection:
    """A section to store; `row` is its former row, if that lost its memory."""

    file: WatchedFile
    section: SectionText
    row: WatchedSection | None = None


def current_memories(rows: Iterable[WatchedSection]) -> dict[int, Memory]:
    """The current version of each row's memory, by the row's key; without purged and merged ones."""
    memories = {row.key: row.memory for row in rows if row.memory is not None}
    heads = heads_of(list({memory.key: memory for memory in memories.values()}.values()))
    found = {key: (memory, heads[memory.key]) for key, memory in memories.items()}
    return {key: head for key, (memory, head) in found.items() if head.root_key == memory.root_key}


@dataclass
class ScanWrites:
    """What a scan writes for a folder: it does so, counts it, and notes the problems by file."""

    actor: Actor
    folder: WatchedFolder
    counts: Counter[str] = field(default_factory=Counter)
    problems: dict[int, list[str]] = field(default_factory=dict)

    def _blame(self, file: WatchedFile, section: SectionText, why: object) -> None:
        self.problems.setdefault(file.key, []).append(f"{section.ref or 'its text'}: {why}")

    def take_pair(self, section: SectionText, row: WatchedSection, head: Memory | None) -> NewSection | None:
        """Bring a section's memory up to date; returns a section to store as new."""
        before = _values_of(row)
        again = self._bring_into_step(section, row, head)
        if _values_of(row) != before:
            row.save()
        return again

    def _bring_into_step(
        self, section: SectionText, row: WatchedSection, head: Memory | None
    ) -> NewSection | None:
        """Update the row, and the memory if the file changed alone; returns a section to store as new."""
        confirm_again(self.actor, row, head)
        row.ref = section.ref
        is_new_text = section.body_hash != row.body_hash
        says_more = is_new_text or section.labels_hash != row.labels_hash
        is_withdrawn = head is None or head.state != State.LIVE or head.trust in WITHDRAWN_TRUSTS
        if is_withdrawn or not row.is_own:
            if row.memory is None and not is_new_text:
                self._blame(row.file, section, "it was refused or purged, and is not stored")
            return NewSection(row.file, section, row) if is_new_text else None
        assert head is not None  # noqa: S101 - is_withdrawn otherwise
        is_new_memory = head.content_hash != row.memory_hash
        if section.body_of(head.content) == section.body and (is_new_text or is_new_memory):
            settle(row, section, head)
        elif (is_new_memory or row.in_conflict) and is_new_text:
            self._propose_text(section, row, head)
        elif is_new_memory:
            if row.in_conflict:
                row.memory, row.memory_hash = head, head.content_hash
                _show_current(row, head)
        elif says_more:
            self._edit_memory(section, row, head)
        return None

    def _edit_memory(self, section: SectionText, row: WatchedSection, head: Memory) -> None:
        draft, change = section.draft, EditDraft(section.draft.content)
        if section.labels_hash[:32] != row.labels_hash[:32]:
            change = replace(change, type=draft.type, tags=draft.tags, importance=draft.importance)
        row.body_hash, row.labels_hash = section.body_hash, section.labels_hash
        try:
            done = edit(self.actor, head.id, change, reason=f"{row.file.path} was changed")
        except LociError as error:
            if error.message != f"{head.id} already has these values.":
                self._blame(row.file, section, error)
            return
        if done.outcome == EditOutcome.QUEUED:
            self.counts["queued"] += 1
            return
        settle(row, section, done.memory)
        self.counts["changed"] += 1

    def _propose_text(self, section: SectionText, row: WatchedSection, head: Memory) -> None:
        row.body_hash, row.labels_hash = section.body_hash, section.labels_hash
        row.memory, row.memory_hash, row.in_conflict = head, head.content_hash, True
        try:
            propose(
                self.actor, FILE_TEXT, group=head.group, memory=head, version=str(head.root_key),
                subject=f"file:{row.file.path}"[:200],
                arguments={"content": check_draft(section.draft).content},
                reason=f"{row.file.path} and the memory were changed both",
                why="the file says something else than the memory, which was changed too",
            )  # fmt: skip
        except LociError as error:
            self._blame(row.file, section, error)
            return
        _show_current(row, head)
        self.counts["proposed"] += 1

    def store_new(self, new: Sequence[NewSection]) -> None:
        """Store new sections in one batch and record their memories."""
        if not new:
            return
        refs = _free_refs(self.folder, new)
        drafts = [self._draft_for(each, ref) for each, ref in zip(new, refs, strict=True)]
        result = store_many(self.actor, drafts)
        stored = batches(id_ for id_ in result.ids if id_ is not None)
        memories = {row.id: row for ids in stored for row in Memory.objects.filter(id__in=ids)}
        holders = find_holders(self.folder, refs)
        refused = {refusal.index: refusal.why for refusal in result.refused}
        made = []
        for at, (each, ref) in enumerate(zip(new, refs, strict=True)):
            id_ = result.ids[at]
            memory = memories.get(id_) if id_ is not None else None
            row = each.row or WatchedSection(file=each.file)
            row.ref, row.source_ref, row.memory, row.in_conflict = each.section.ref, ref, memory, False
            row.body_hash, row.labels_hash = each.section.body_hash, each.section.labels_hash
            if memory is not None:
                settle(row, each.section, memory)
            holder = holders.get(ref)
            row.is_own = holder is not None and memory is not None and holder.root_key == memory.root_key
            if at in refused:
                self._blame(each.file, each.section, refused[at])
            made.append(row)
        for row in made:
            if row.pk is not None:
                row.save()
        WatchedSection.objects.bulk_create([row for row in made if row.pk is None], batch_size=ROWS_AT_ONCE)
        outcomes = {"created": result.created, "reinforced": result.reinforced, "queued": result.queued}
        self.counts += Counter(outcomes)
        if result.created or result.queued:
            payload = {"counts": outcomes | {"refused": len(refused)}}
            subject = f"source:{SOURCE}{self.folder.name}"
            audit.append(self.actor, Operation.IMPORT, subject=subject, payload=payload)

    def propose_instruction_files(self, texts: Iterable[tuple[WatchedFile, NoteText]]) -> None:
        """Propose the instruction files among the files read for the group's instructions."""
        for file, note in texts:
            text = instruction_text(note.text) if is_instruction(file.path) else ""
            if not text:
                continue
            try:
                is_new = propose_instructions(
                    self.actor, self.folder.group, text, file=f"{SOURCE}{self.folder.name}#{file.path}"
                )
            except LociError as error:
                self.problems.setdefault(file.key, []).append(str(error))
            else:
                self.counts["proposed"] += is_new

    def _draft_for(self, new: NewSection, ref: str) -> Draft:
        folder = self.folder
        scope = Scope.GLOBAL if folder.group.slug == EVERYONE else Scope.GROUP
        return replace(
            new.section.draft, group=folder.group.slug, scope=scope, source=f"{SOURCE}{folder.name}", source_ref=ref,
            outside=not folder.as_own,
        )  # fmt: skip


def _values_of(row: WatchedSection) -> list[object]:
    return [getattr(row, field.attname) for field in row._meta.concrete_fields]


def settle(row: WatchedSection, section: SectionText, memory: Memory) -> None:
    """Record that file and memory agree."""
    row.memory, row.memory_hash = memory, memory.content_hash
    row.body_hash, row.labels_hash = section.body_hash, section.labels_hash
    row.in_conflict = False


def _show_current(row: WatchedSection, head: Memory) -> None:
    """Point the proposals about a section at the current version, which the Review compares."""
    waiting = Proposal.objects.filter(
        verb=FILE_TEXT, group=head.group, version=str(head.root_key), status=ProposalStatus.WAITING
    )
    waiting.exclude(memory=head).update(memory=head)


def _free_refs(folder: WatchedFolder, new: Sequence[NewSection]) -> list[str]:
    """An unused source_ref for each section; a section that lost its memory gets a new one."""
    taken = set(WatchedSection.objects.filter(file__folder=folder).values_list("source_ref", flat=True))
    refs = []
    for each in new:
        first = ref_of(each.file.path, *filter(None, [each.section.ref]))
        number, ref = 1, first
        while ref in taken:
            number += 1
            ref = ref_of(each.file.path, *filter(None, [each.section.ref]), f"~{number}")
        taken.add(ref)
        refs.append(ref)
    return refs


def find_holders(folder: WatchedFolder, refs: Sequence[str]) -> dict[str, Memory]:
    """The memories with these source_refs, without merged ones."""
    found: dict[str, Memory] = {}
    for some in batches(refs):
        rows = Memory.objects.filter(
            group=folder.group, source=f"{SOURCE}{folder.name}", source_ref__in=some
        ).exclude(state=State.MERGED)
        found |= {row.source_ref: row for row in rows}
    return found
