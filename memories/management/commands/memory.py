"""`manage.py memory`: the verbs of a memory, for the operator."""

from typing import Any, Final

from access.errors import InvalidInput
from access.management.command import ALLOW, DRY_RUN, REASON, YES, CommandAnswer, CommandVerb, flag, option
from access.tokens import operator
from memories.browse.serializers import DoneOut, EditedOut
from memories.draft import EDITED, EditDraft
from memories.draft.registry import FieldInput, offered_in
from memories.entities.find_person import find_person
from memories.language.cleaning import first_words, format_count, format_memory_count
from memories.lifecycle.edit import EditOutcome, edit
from memories.lifecycle.target import SHOWN_WORDS, ChangeResult
from memories.lifecycle.verbs import Face, offered_by
from memories.management.field_options import field_options, read_fields
from memories.management.output import FaceCommand, in_lines, printable, read_text, table_text
from memories.management.verbs.reading import INSPECT, LIFT, LIST, RECALLS, TOMBSTONES
from memories.management.verbs.sessions import CHECKPOINT, CONTEXT, RELATE
from memories.queries.versions import find_memory

EXAMPLES: Final = """\
examples:
  loci memory list --group ledger --words port             the newest first
  loci memory inspect 0c07398f                             text, versions, links, relations, history
  loci memory inspect 0c07398f --query "deploy port"       why recall finds it or not
  loci memory inspect 0c07398f --as-of 2026-03-01          the version that was true then; --known-at: that Loci knew
  loci memory context --group ledger --query "fix the invoice rounding" --token-budget 3000
  loci memory checkpoint "Rounding is fixed; the migration still has to run." --group ledger
  loci memory checkpoint --group ledger --thread rollout   prints the last one
  loci memory relate "Invoice service" owned_by_team Payments --group ledger
  loci memory recalls --group ledger --question port --since 2026-11-01
  loci memory tombstones --group ledger
  loci memory forget 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --reason "not ours"
  loci memory retract 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --successor "The port is 8082."
  loci memory merge 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f 0190c2a5-0f3a-7d21-8e6b-5d1f0e8a4c77 --dry-run
  loci memory move 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --to garden --dry-run
  loci memory edit 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --content "The port is 8082." --tag ports
  loci memory purge 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --dry-run       what goes, and which places have its text
  loci memory purge 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --quotes --yes
  loci memory find-person "Anna Berg"
"""
VERBS: Final = offered_by(Face.COMMAND)
FIELDS: Final = offered_in(FieldInput.EDIT_COMMAND, EDITED)
_SHOWN_BEFORE: Final = ("purge", "merge")  # whose dry run shows the texts
_EDIT_OUTCOMES: Final = {
    EditOutcome.NEW_VERSION: "Saved as a new version",
    EditOutcome.CHANGED: "Changed in place",
    EditOutcome.QUEUED: "The new text waits for a curator",
}


def change(options: dict[str, Any]) -> CommandAnswer:
    """Run one verb of a memory."""
    done = run_verb(options)
    texts = [options["id"], options.get("into")] if done.dry_run and options["verb"] in _SHOWN_BEFORE else []
    lines = [f"{id_}: {printable(shown_text(id_))}" for id_ in texts if id_]
    return CommandAnswer(DoneOut.json(done), "\n".join([*lines, *_result_lines(done)]))


def change_fields(options: dict[str, Any]) -> CommandAnswer:
    """Write a new version, or change fields."""
    dry_run, named = options["dry_run"], read_fields(options, FIELDS)
    if options["content"]:
        named["content"] = read_text(options["content"])
    wanted = EditDraft(**named, allow=tuple(options["allow"]))
    edited = edit(operator(), options["id"], wanted, reason=options["reason"], dry_run=dry_run)
    why = f" ({printable(edited.why)})" if edited.why else ""
    rows = [[name, f"{before} → {after}"] for name, (before, after) in edited.changes.items()]
    text = in_lines(
        f"{'Dry run: ' if dry_run else ''}{_EDIT_OUTCOMES[edited.outcome]}{why}.",
        table_text(rows),
        *(f"Found {printable(found.words)}." for found in edited.findings),
    )
    body = EditedOut.json(edited, is_person=True) | {"dry_run": dry_run}
    return CommandAnswer(body | {"memory": None} if dry_run else body, text)


def _list_mentions(options: dict[str, Any]) -> CommandAnswer:
    """Everything that names a person."""
    found = find_person(operator(), options["name"])
    mentions: list[dict[str, Any]] = [  # texts are left out
        {
            "id": str(m.memory.id),
            "group": m.memory.group.slug,
            "state": m.memory.state,
            "where": list(m.where),
        }
        for m in found.memories
    ]
    checkpoints = [{"id": str(each.id), "group": each.group.slug} for each in found.checkpoints]
    text = in_lines(
        table_text([[m["id"], m["group"], m["state"], ", ".join(m["where"])] for m in mentions]),
        table_text([[each["id"], each["group"], "checkpoint", ""] for each in checkpoints]),
        *(printable(place) for place in found.others),
        f"{format_memory_count(len(mentions))} and {format_count(len(checkpoints), 'checkpoint')}.",
        "To destroy one with all its copies: loci memory purge ID --yes" if mentions else "",
    )
    body = {"memories": mentions, "checkpoints": checkpoints, "others": list(found.others)}
    return CommandAnswer(body, text)


def run_verb(options: dict[str, Any]) -> ChangeResult:
    """Run the verb as the operator."""
    verb = VERBS[options["verb"]]
    if verb.name == "purge" and not (options["yes"] or options["dry_run"]):
        raise InvalidInput(
            f"A purge cannot be undone. It would destroy “{shown_text(options['id'])}”.",
            hint="Preview it with --dry-run, then confirm with --yes.",
            field="yes",
        )
    text = read_text(options[verb.text], field=verb.text) if verb.text else ""
    return verb.apply(
        operator(), options["id"], other=options.get(verb.other, ""), text=text, reason=options["reason"],
        quotes=options.get("quotes", False), dry_run=options["dry_run"],
    )  # fmt: skip


def shown_text(id_: str) -> str:
    """The first words of a memory: a short id may name another one than was meant."""
    return first_words(find_memory(operator(), id_).content, SHOWN_WORDS)


def _result_lines(done: ChangeResult) -> list[str]:
    after = f"{done.id} {done.state}, {done.trust}"
    if done.queued:
        would = "would wait" if done.dry_run else "waits"
        as_proposal = f" as proposal {done.proposal}" if done.proposal is not None else ""
        lines = [f"{done.verb} {would} for a curator{as_proposal}; {after} stays."]
    elif done.dry_run:
        lines = [f"{done.verb} would leave {after}. Nothing was written."]
    else:
        lines = [f"{done.verb}: {after}; {format_count(done.changed, 'row')} changed."]
    lines += [f"- {printable(line)}" for line in done.consequences]
    if done.successor is not None:
        lines.append(f"In its place: {done.successor}")
    if (proof := done.certificate) is not None:
        lines.append(
            f"Destroyed: {format_memory_count(proof.memories)}, {format_count(proof.pieces, 'piece')}, {format_count(proof.links, 'link')}, "
            f"{format_count(proof.log_payloads, 'log payload')}, {format_count(proof.recall_logs, 'logged recall')}; "
            f"blanked: {format_count(proof.recalls_blanked, 'question')} that found it."
        )
        if proof.cleared:
            cleared = ", ".join(f"{place} {count}" for place, count in proof.cleared.items())
            lines.append(f"Cleared in other places: {cleared}.")
        lines += [f"Checked: {printable(place)}" for place in proof.checked]
        lines += [f"Still there: {printable(place)}" for place in proof.remains]
        lines += [f"Spared, since it counts: {id_}" for id_ in proof.spared]
    return lines


def has_text(options: dict[str, Any]) -> bool:
    """Whether the command line has a text, which has to be embedded."""
    return any(options.get(name) for name in ("content", "successor"))


ID: Final = option("id", help="the memory's id")
TEXT: Final = option("--content", default="", help="its new text; - reads standard input")
_CHANGE: Final = (REASON, DRY_RUN)
_OWN_OPTIONS: Final = {
    "merge": (option("into", help="the id of the memory that stays"), TEXT),
    "supersede": (option("by", help="the id of the memory that takes its place"),),
    "move": (option("--to", required=True, metavar="GROUP", help="the group that gets it"),),
    "retract": (
        option("--successor", default="", metavar="TEXT|ID", help="the right text, or the id of the right memory"),
    ),
    "purge": (YES, flag("--quotes", "also destroy the memories that quote it")),
}  # fmt: skip


class Command(FaceCommand):
    """What is read about memories and done to them, for the operator."""

    help = (
        "List, inspect, relate and change memories: forget, retract, merge, edit, purge and the other verbs."
    )
    examples = EXAMPLES
    verbs = {
        "list": LIST,
        "inspect": INSPECT,
        "context": CONTEXT,
        "checkpoint": CHECKPOINT,
        "relate": RELATE,
        "recalls": RECALLS,
        "tombstones": TOMBSTONES,
        "lift": LIFT,
        "edit": CommandVerb(
            change_fields,
            "write a new version, or change fields such as tags",
            (ID, TEXT, ALLOW, *field_options(FIELDS, is_edit=True), *_CHANGE),
            uses_model=has_text,
        ),
        **{
            verb.name: CommandVerb(
                change, verb.help, (ID, *_OWN_OPTIONS.get(verb.name, ()), *_CHANGE), uses_model=has_text
            )
            for verb in VERBS.values()
        },
        "find-person": CommandVerb(
            _list_mentions,
            "list everything that names a person",
            (option("name", help="the name as it is written"),),
        ),
    }
