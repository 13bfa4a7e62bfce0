"""`manage.py remember`: store a memory."""

import dataclasses
from typing import Any, Final

from access.errors import InvalidInput
from access.management.command import ALLOW, GROUP, THREAD, flag, option
from access.tokens import operator
from memories.browse.serializers import StoredOut
from memories.draft import STORED, Draft
from memories.draft.registry import FieldInput, offered_in
from memories.management.field_options import field_options, read_fields
from memories.management.output import FaceCommand, printable, read_text
from memories.models import Memory
from memories.queries.labels import label_of
from memories.store import Outcome, StoreResult, store
from memories.store.neighbours import NextStep

EXAMPLES: Final = """\
examples:
  loci remember "We settled on PostgreSQL 16 for the ledger." --group ledger
  loci remember "To deploy, run make ship." --type procedural --tag deploy --group ledger
  git log -1 --format=%B | loci remember - --type episodic --group ledger
  loci remember - --lines --group ledger < facts.txt     each line is a memory
  loci remember "The port is 8082." --supersedes 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --json
"""
FIELDS: Final = offered_in(FieldInput.REMEMBER, STORED)
OUTCOMES: Final = {
    Outcome.CREATED: "Created",
    Outcome.REINFORCED: "Reinforced",
    Outcome.QUEUED: "Waits for a curator",
    Outcome.REFUSED: "Refused",
    Outcome.UNCHANGED: "Unchanged",
}
_ADVICE: Final = {
    NextStep.SUPERSEDE: "If it has changed: store the text again with --supersedes {id}",
    NextStep.RETRACT: "If it was wrong: loci memory retract {id}",
}


class Command(FaceCommand):
    """Stores one text, or each line of it."""

    help = "Store a memory."
    examples = EXAMPLES
    uses_model = True

    options = (
        option("content", help="the text; - reads standard input"),
        flag("--lines", "store each line as its own memory"),
        GROUP,
        *field_options(FIELDS),
        THREAD,
        option("--supersedes", metavar="ID", help="id of the memory that this one replaces"),
        option("--context", help="where it comes from or what it was about"),
        ALLOW,
    )

    def act(self, options: dict[str, Any]) -> int:
        draft = Draft(
            read_text(options["content"]), group=options["group"], thread=options["thread"], context=options["context"] or "",
            supersedes=options["supersedes"] or None, allow=tuple(options["allow"]), **read_fields(options, FIELDS),
        )  # fmt: skip
        drafts = [draft]
        if options["lines"]:
            lines = [line for line in draft.content.splitlines() if line.strip()]
            drafts = [dataclasses.replace(draft, content=line) for line in lines]
        if not drafts:
            raise InvalidInput("'content' is empty.", hint="Pass the text to remember.", field="content")
        outcomes = set[str]()
        for draft in drafts:
            stored = store(operator(), draft)
            outcomes.add(stored.outcome)
            if options["json"]:
                self.print_json(StoredOut.json(stored))
            else:
                self.stdout.write("\n".join(_outcome_lines(stored)))
        return 1 if Outcome.REFUSED in outcomes else 0


def _outcome_lines(stored: StoreResult) -> list[str]:
    id_ = f" {stored.memory.id}" if stored.memory else ""
    new = " (a new group)" if stored.group_created else ""
    lines = [
        f"{OUTCOMES[stored.outcome]}{id_} in {printable(stored.group)}{new}"
        + (f": {printable(stored.why)}" if stored.why else ".")
    ]
    if stored.superseded:
        lines.append(f"It replaces {stored.superseded}.")
    for neighbour in stored.neighbours:
        lines.append(
            f"Similar: {neighbour.id}{other_group(neighbour.memory, stored)} {printable(neighbour.memory.content)[:80]}"
            f" ({printable('; '.join(filter(None, [label_of(neighbour.memory), neighbour.why])))})"
        )
        if (advice := _ADVICE.get(stored.next_steps.get(neighbour.id, NextStep.NOTHING))) is not None:
            lines.append(f"  {advice.format(id=neighbour.id)}")
    if stored.is_embedding_owed and not stored.owed_because:
        lines.append("The embedding model is not available yet: until then it is found by words only.")
    if stored.removed_characters:
        lines.append(f"{stored.removed_characters} control characters were removed.")
    lines += [f"Found {printable(each.words)}." for each in stored.findings]
    return lines


def other_group(memory: Memory, stored: StoreResult) -> str:
    """The group of a similar memory if it is another one, so that it is not replaced by mistake."""
    return "" if memory.group.slug == stored.group else f" in {printable(memory.group.slug)}:"
