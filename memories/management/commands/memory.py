"""`manage.py memory`: the verbs of a memory, for the operator."""

import argparse
from typing import Any, Final

from django.core.management.base import CommandParser

from access.errors import InvalidInput
from access.groups.guarding import findings_json
from access.tokens import operator
from memories.browse.serializers import change_json, memory_json
from memories.draft import EDITED, EditDraft
from memories.draft.registry import FieldInput, offered_in
from memories.entities.find_person import PersonMentions, find_person
from memories.language.cleaning import first_words
from memories.language.plurals import format_count, format_memory_count
from memories.lifecycle.edit import EditOutcome, EditResult, edit
from memories.lifecycle.target import SHOWN_WORDS, ChangeResult
from memories.lifecycle.verb import Face
from memories.lifecycle.verbs import offered_by
from memories.management.field_options import add_field_options, read_fields
from memories.management.output import FaceCommand, printable, read_text
from memories.queries.versions import find_memory

EXAMPLES: Final = """\
examples:
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
HELP: Final = [(verb.name, verb.help) for verb in VERBS.values()]
HELP.insert(-1, ("edit", "write a new version, or change fields such as tags"))  # 'purge' comes last
FIELDS: Final = offered_in(FieldInput.EDIT_COMMAND, EDITED)
SHOWN_BEFORE: Final = ("purge", "merge")  # whose dry run shows the texts
EDIT_OUTCOMES: Final = {
    EditOutcome.NEW_VERSION: "saved as a new version",
    EditOutcome.CHANGED: "changed in place",
    EditOutcome.QUEUED: "the new text waits for a curator",
}


class Command(FaceCommand):
    """Runs one verb and prints its result."""

    help = "Change a memory: forget, restore, retract, merge, edit and the other verbs."
    takes_group = False
    examples = EXAMPLES

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        parsers = {name: actions.add_parser(name, help=text) for name, text in HELP}
        for name, action in parsers.items():
            action.add_argument("id", help="the memory's id")
            if name == "merge":
                action.add_argument("into", help="the id of the memory that stays")
                action.add_argument("--content", default="", help="its new text; - reads standard input")
            if name == "supersede":
                action.add_argument("by", help="the id of the memory that takes its place")
            if name == "move":
                action.add_argument("--to", required=True, metavar="GROUP", help="the group that gets it")
            if name == "retract":
                action.add_argument(
                    "--successor",
                    default="",
                    metavar="TEXT|ID",
                    help="the right text, or the id of the right memory",
                )
            if name == "purge":
                action.add_argument("--yes", action="store_true", help="confirm")
                action.add_argument(
                    "--quotes", action="store_true", help="also destroy the memories that quote it"
                )
            action.add_argument("--reason", default="", help="kept in the audit log")
            action.add_argument(
                "--dry-run", action="store_true", help="show the consequences, change nothing"
            )
            action.add_argument("--json", action="store_true", help="answer as one JSON object")
        add_edit_fields(parsers["edit"])
        person = actions.add_parser("find-person", help="list everything that names somebody")
        person.add_argument("name", help="the name as it is written")
        person.add_argument("--json", action="store_true", help="answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Wait for the model only if a text has to be embedded."""
        self.uses_model = any(options.get(name) for name in ("content", "successor"))
        super().handle(*args, **options)

    def act(self, options: dict[str, Any]) -> int:
        if options["verb"] == "edit":
            return self._edit(options)
        if options["verb"] == "find-person":
            return self._find_person(options)
        done = run_verb(options)
        if options["json"]:
            self.print_json(change_json(done))
        else:
            texts = [options["id"], options.get("into")] if options["verb"] in SHOWN_BEFORE else []
            for id_ in filter(None, texts if done.dry_run else []):
                self.stdout.write(f"{id_}: {printable(shown_text(id_))}")
            self.stdout.write("\n".join(result_lines(done)))
        return 0

    def _edit(self, options: dict[str, Any]) -> int:
        edited = edit(
            operator(),
            options["id"],
            read_edit(options),
            reason=options["reason"],
            dry_run=options["dry_run"],
        )
        if options["json"]:
            self.print_json(edit_json(edited, dry_run=options["dry_run"]))
        else:
            would = "Would be: " if options["dry_run"] else ""
            why = f" ({printable(edited.why)})" if edited.why else ""
            self.stdout.write(f"{would}{EDIT_OUTCOMES[edited.outcome]}{why}.")
            self.print_table(
                [[name, f"{before} → {after}"] for name, (before, after) in edited.changes.items()]
            )
            for found in edited.findings:
                self.stdout.write(f"Found {printable(found.words)}.")
        return 0

    def _find_person(self, options: dict[str, Any]) -> int:
        found = find_person(operator(), options["name"])
        if options["json"]:
            self.print_json(mentions_json(found))
            return 0
        self.print_table(
            [
                [str(each.memory.id), each.memory.group.slug, each.memory.state, ", ".join(each.where)]
                for each in found.memories
            ]
        )
        self.print_table([[str(each.id), each.group.slug, "checkpoint", ""] for each in found.checkpoints])
        for place in found.others:
            self.stdout.write(printable(place))
        self.stdout.write(
            f"{format_memory_count(len(found.memories))} and {format_count(len(found.checkpoints), 'checkpoint')}."
        )
        if found.memories:
            self.stdout.write("To destroy one with all its copies: loci memory purge ID --yes")
        return 0


def mentions_json(found: PersonMentions) -> dict[str, Any]:
    """What names a person, as JSON values; texts are left out."""
    return {
        "memories": [
            {
                "id": str(each.memory.id),
                "group": each.memory.group.slug,
                "state": each.memory.state,
                "where": list(each.where),
            }
            for each in found.memories
        ],
        "checkpoints": [{"id": str(each.id), "group": each.group.slug} for each in found.checkpoints],
        "others": list(found.others),
    }


def add_edit_fields(action: argparse.ArgumentParser) -> None:
    """Add the options of `memory edit`."""
    action.add_argument("--content", default="", help="the new text; - reads standard input")
    action.add_argument(
        "--allow", action="append", default=[], metavar="KIND", help="a guessed secret that is none: password"
    )
    add_field_options(action, FIELDS, is_edit=True)


def run_verb(options: dict[str, Any]) -> ChangeResult:
    """Run the verb as the operator."""
    verb = VERBS[options["verb"]]
    if verb.name == "purge" and not (options["yes"] or options["dry_run"]):
        raise InvalidInput(
            f"A purge cannot be undone. It would destroy “{shown_text(options['id'])}”.",
            hint="Preview it with --dry-run, then confirm with --yes.",
            field="yes",
        )
    return verb.apply(
        operator(),
        options["id"],
        other=options.get(verb.other, ""),
        text=read_text(options[verb.text], field=verb.text) if verb.text else "",
        reason=options.get("reason", ""),
        quotes=options.get("quotes", False),
        dry_run=options["dry_run"],
    )


def shown_text(id_: str) -> str:
    """The first words of a memory: a short id may name another one than was meant."""
    return first_words(find_memory(operator(), id_).content, SHOWN_WORDS)


def read_edit(options: dict[str, Any]) -> EditDraft:
    """The edit of the fields that the options name."""
    named = read_fields(options, FIELDS)
    if options["content"]:
        named["content"] = read_text(options["content"])
    return EditDraft(**named, allow=tuple(options["allow"]))


def edit_json(edited: EditResult, *, dry_run: bool) -> dict[str, Any]:
    """The result of an edit as JSON; a dry run has no memory."""
    return {
        "outcome": edited.outcome,
        "memory": None if dry_run else memory_json(edited.memory, is_person=True),
        "replaced": str(edited.replaced) if edited.replaced else None,
        "changes": edited.changes,
        "why": edited.why,
        "dry_run": dry_run,
    } | findings_json(edited.findings)


def result_lines(done: ChangeResult) -> list[str]:
    """The result of a verb and its consequences, in words."""
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
        lines += [f"Still there: {printable(place)}" for place in proof.remains]
        lines += [f"Spared, since it counts: {id_}" for id_ in proof.spared]
    return lines
