"""What the reader of a format finds, and the rules under which it becomes drafts.

A reader knows its format and nothing else. Group, source, time limit and what waits are settled here, for all alike.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from access.errors import LociError, NotFound
from memories.draft import Draft, check_draft
from memories.draft.kinds import MAX_TAGS
from memories.entities.store_relation import RelationDraft
from sources.importing.importer import NOWHERE, LineRules
from sources.importing.reading.json_stream import JsonFault

_OTHER_PLACE = "places that the map leaves out"


@dataclass(frozen=True)
class InstructionsText:
    """The text of an instruction file, such as CLAUDE.md: proposed for the instructions of a group.

    `file` names it among the files of its source.
    """

    text: str
    file: str
    group: str | None = None


@dataclass(frozen=True)
class SourceRecord:
    """One thing that a reader found: a draft, a relation or an instruction file, or why it is none of them.

    `why`: it is broken, which is reported. `skipped`: it is left out on purpose. `place` is where it belongs at its origin:
    a project, a user, a folder. `number` is its line; 0 in a file without lines, whose records are counted.
    """

    draft: Draft | None = None
    relation: RelationDraft | None = None
    instructions: InstructionsText | None = None
    why: str = ""
    skipped: str = ""
    place: str = ""
    number: int = 0


def settle(records: Iterable[SourceRecord], rules: LineRules) -> Iterator[SourceRecord]:
    """The records under the rules, their drafts checked, numbered from 1. A fault in the file ends them as a broken record.

    Raises:
        NotFound: the file itself cannot be opened.
    """
    number = 0
    try:
        for number, record in enumerate(records, start=1):
            yield replace(_settle_one(record, rules), number=record.number or number)
    except (JsonFault, LociError) as fault:
        if number == 0 and isinstance(fault, NotFound):
            raise
        yield SourceRecord(why=str(fault), number=number + 1)


def _settle_one(record: SourceRecord, rules: LineRules) -> SourceRecord:
    if record.why or record.skipped:
        return record
    placed = None if rules.group else rules.group_of_place(record.place)
    if placed == NOWHERE:
        return SourceRecord(skipped=_OTHER_PLACE)
    group = rules.group or placed
    if relation := record.relation:
        return replace(record, relation=replace(relation, group=group or relation.group))
    if found := record.instructions:
        named = replace(found, group=group or found.group, file=f"{rules.source}#{found.file}")
        return replace(record, instructions=named)
    if record.draft is None:
        return SourceRecord(why="it is empty")
    moment = record.draft.valid_from
    if rules.since is not None and moment is not None and moment < rules.since:
        return SourceRecord(skipped=f"older than {rules.since:%Y-%m-%d}")
    draft = replace(
        record.draft,
        group=group or record.draft.group,
        type=rules.type or record.draft.type,
        scope=rules.scope,
        source=record.draft.source or rules.source,
        tags=record.draft.tags[:MAX_TAGS],  # those beyond the limit are left out
    )
    try:
        return SourceRecord(check_draft(draft))
    except LociError as error:
        return SourceRecord(why=str(error))
