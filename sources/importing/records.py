"""What the reader of a foreign format finds, and the rules under which it becomes drafts.

A reader knows its format and nothing else. Group, source, time limit and what waits are settled here, for all alike.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path

from access.actor import Actor
from access.errors import LociError
from memories.draft import Draft
from memories.draft.kinds import MAX_TAGS
from memories.entities.store_relation import RelationDraft
from sources.importing.drafts import InstructionsText, NumberedDraft, import_drafts, numbered_draft
from sources.importing.importer import NOWHERE, Importer, LineRules, Recognition, Waiting
from sources.importing.reading.file_tree import FileTree
from sources.importing.reading.json_stream import JsonFault
from sources.importing.reports import LinesReport

LEADS_OUT = "files whose names lead out of the zip"
OTHER_PLACE = "places that the map leaves out"


@dataclass(frozen=True)
class SourceRecord:
    """One thing that a reader found: a draft, a relation or an instruction file, or why it is none of them.

    `why`: it is broken, which is reported. `skipped`: it is left out on purpose. `place` is where it belongs at its origin:
    a project, a user, a folder. `at` is its time, if the draft does not have it.
    """

    draft: Draft | None = None
    relation: RelationDraft | None = None
    instructions: InstructionsText | None = None
    why: str = ""
    skipped: str = ""
    place: str = ""
    at: datetime | None = None


ReadRecords = Callable[[Path, LineRules], Iterable[SourceRecord]]


def settle(records: Iterable[SourceRecord], rules: LineRules) -> Iterator[NumberedDraft]:
    """The records as checked drafts under the rules, numbered from 1. A fault in the file ends them as a broken record."""
    number = 0
    try:
        for number, record in enumerate(records, start=1):
            yield _settle_one(number, record, rules)
    except (JsonFault, LociError) as fault:
        yield NumberedDraft(number + 1, None, str(fault))


def _settle_one(number: int, record: SourceRecord, rules: LineRules) -> NumberedDraft:
    if record.why or record.skipped:
        return NumberedDraft(number, None, record.why, record.skipped)
    placed = None if rules.group else rules.group_of_place(record.place)
    if placed == NOWHERE:
        return NumberedDraft(number, None, skipped=OTHER_PLACE)
    group = rules.group or placed
    if record.relation is not None:
        relation = record.relation
        return NumberedDraft(number, None, relation=replace(relation, group=group or relation.group))
    if record.instructions is not None:
        found = record.instructions
        named = replace(found, group=group or found.group, file=f"{rules.source}#{found.file}")
        return NumberedDraft(number, None, instructions=named)
    if record.draft is None:
        return NumberedDraft(number, None, "it is empty")
    moment = record.draft.valid_from or record.at
    if rules.since is not None and moment is not None and moment < rules.since:
        return NumberedDraft(number, None, skipped=f"older than {rules.since:%Y-%m-%d}")
    return numbered_draft(number, partial(_apply_rules, record.draft, rules, group))


def _apply_rules(draft: Draft, rules: LineRules, group: str | None) -> Draft:
    """The draft with what the rules say: group, type, scope and source. Tags beyond the limit are left out."""
    return replace(
        draft,
        group=group or draft.group,
        type=rules.type or draft.type,
        scope=rules.scope,
        source=draft.source or rules.source,
        tags=draft.tags[:MAX_TAGS],
    )


def _run_records(
    actor: Actor,
    path: Path,
    rules: LineRules,
    *,
    read: ReadRecords,
    waiting: Waiting,
    on_progress: Callable[[int], object] | None = None,
    dry_run: bool = False,
    strict: bool = False,
) -> LinesReport:
    """Import what a reader finds; `waiting` is what waits by default in this format."""
    report = import_drafts(
        actor,
        path,
        replace(rules, waiting=rules.waiting or waiting),
        read=lambda path, rules: settle(chain(read(path, rules), _left_out(path)), rules),
        on_progress=on_progress,
        dry_run=dry_run,
        strict=strict,
    )
    return replace(report, unit="record")


def _left_out(path: Path) -> Iterator[SourceRecord]:
    with FileTree(path) as tree:
        yield from (SourceRecord(skipped=LEADS_OUT) for _ in tree.outside())


def record_importer(
    name: str,
    description: str,
    *,
    endings: tuple[str, ...] = (),
    recognises: Callable[[Path], Recognition],
    read: ReadRecords,
    waiting: Waiting = Waiting.LIVE,
    source: Callable[[Path], str] | str = "",
) -> Importer:
    """The table's entry of a foreign format. `source` names the source of its texts; by default it is the format's name."""
    named = source or name
    return Importer(
        name=name,
        description=description,
        endings=endings,
        recognises=recognises,
        run=partial(_run_records, read=read, waiting=waiting),
        source=named if callable(named) else lambda path: named,
    )
