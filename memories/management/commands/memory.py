"""`manage.py memory`: what can be done to a memory, each verb for the operator."""

import argparse
from collections.abc import Callable
from typing import Any, Final

from django.core.management.base import CommandParser

from access.errors import InvalidInput
from access.tokens import operator
from memories.browse.serializers import change_json, memory_json
from memories.language.plurals import format_count, format_memory_count
from memories.language.timestamps import parse_moment
from memories.lifecycle import verbs
from memories.lifecycle.edit import EditDraft, EditOutcome, EditResult, edit
from memories.lifecycle.verbs import ChangeResult
from memories.management.output import FaceCommand, plain, read_text
from memories.types import Type

EXAMPLES: Final = """\
examples:
  manage.py memory forget 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --reason "not ours"
  manage.py memory retract 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --successor "The port is 8082."
  manage.py memory merge 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f 0190c2a5-0f3a-7d21-8e6b-5d1f0e8a4c77 --dry-run
  manage.py memory edit 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --content "The port is 8082." --tag ports
  manage.py memory purge 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --yes --json
"""
HELP: Final = {
    "forget": "hide it; 'restore' brings it back",
    "restore": "let it count again, take a merge apart, or bring a former version back",
    "retract": "withdraw it as wrong, with what is right instead",
    "dispute": "mark it as doubted",
    "verify": "confirm it",
    "approve": "let a candidate count",
    "reject": "turn it down; its text is refused",
    "quarantine": "keep its text away from agents",
    "pin": "keep it from decay and in every context pack",
    "unpin": "take the pin off",
    "merge": "let it go into another memory",
    "supersede": "let a memory that is there take its place",
    "edit": "write a new version, or change its tags and the like",
    "purge": "destroy it; nothing brings it back",
}
PLAIN: Final[dict[str, Callable[..., ChangeResult]]] = {
    name: getattr(verbs, name)
    for name in ("forget", "restore", "dispute", "verify", "approve", "reject", "quarantine")
}
PINS: Final[dict[str, Callable[..., ChangeResult]]] = {"pin": verbs.pin, "unpin": verbs.unpin}
EDITED: Final = {
    EditOutcome.NEW_VERSION: "a new version counts",
    EditOutcome.CHANGED: "changed in place",
    EditOutcome.QUEUED: "the new text waits for a curator",
}


class Command(FaceCommand):
    """Parses, does one verb, renders."""

    help = "Do something to a memory: forget, restore, retract, merge, edit and the other verbs."
    takes_group = False
    examples = EXAMPLES

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        made = {name: actions.add_parser(name, help=said) for name, said in HELP.items()}
        for name, action in made.items():
            action.add_argument("id", help="the memory's id")
            if name == "merge":
                action.add_argument("into", help="the id of the memory that stays")
                action.add_argument("--content", default="", help="its new text; - reads standard input")
            if name == "supersede":
                action.add_argument("by", help="the id of the memory that takes its place")
            if name == "retract":
                action.add_argument(
                    "--successor", default="", metavar="TEXT|ID", help="what is right instead"
                )
            if name == "purge":
                action.add_argument("--yes", action="store_true", help="it is meant")
            if name not in PINS:
                action.add_argument("--reason", default="", help="kept in the audit log")
            action.add_argument(
                "--dry-run", action="store_true", help="say what would follow, change nothing"
            )
            action.add_argument("--json", action="store_true", help="answer as one JSON object")
        _add_fields(made["edit"])

    def handle(self, *args: Any, **options: Any) -> None:
        """Wait for the model only where a text is to be embedded."""
        self.uses_model = any(options.get(name) for name in ("content", "successor"))
        super().handle(*args, **options)

    def act(self, options: dict[str, Any]) -> int:
        if options["verb"] == "edit":
            return self._edit(options)
        done = _done(options)
        if options["json"]:
            self.print_json(change_json(done))
        else:
            self.stdout.write("\n".join(_lines(done)))
        return 0

    def _edit(self, options: dict[str, Any]) -> int:
        edited = edit(
            operator(), options["id"], _change(options), reason=options["reason"], dry_run=options["dry_run"]
        )
        if options["json"]:
            self.print_json(_edited_json(edited, dry_run=options["dry_run"]))
        else:
            would = "Would be: " if options["dry_run"] else ""
            why = f" ({plain(edited.why)})" if edited.why else ""
            self.stdout.write(f"{would}{EDITED[edited.outcome]}{why}.")
            self.print_table(
                [[name, f"{before} → {after}"] for name, (before, after) in edited.changes.items()]
            )
        return 0


def _add_fields(action: argparse.ArgumentParser) -> None:
    action.add_argument("--content", default="", help="the new text; - reads standard input")
    action.add_argument("--type", choices=Type.values)
    action.add_argument(
        "--tag", action="append", metavar="WORD", help="all its tags from now on; may be repeated"
    )
    action.add_argument("--importance", type=int, metavar="1..10")
    action.add_argument("--valid-from", metavar="TIME", help="since when it is true: 2026-11-21T09:30:00Z")
    action.add_argument("--expires-at", metavar="TIME", help="when it is to be let go")


def _done(options: dict[str, Any]) -> ChangeResult:
    """Do the verb as the operator."""
    actor, verb, id_, dry_run = operator(), options["verb"], options["id"], options["dry_run"]
    if verb in PINS:
        return PINS[verb](actor, id_, dry_run=dry_run)
    how = {"reason": options["reason"], "dry_run": dry_run}
    if verb in PLAIN:
        return PLAIN[verb](actor, id_, **how)
    if verb == "merge":
        return verbs.merge(actor, id_, options["into"], content=read_text(options["content"]), **how)
    if verb == "supersede":
        return verbs.supersede(actor, id_, options["by"], **how)
    if verb == "retract":
        return verbs.retract(actor, id_, successor=read_text(options["successor"], field="successor"), **how)
    if not (options["yes"] or dry_run):
        raise InvalidInput(
            "A purge cannot be undone.", hint="Look at it with --dry-run, then add --yes.", field="yes"
        )
    return verbs.purge(actor, id_, **how)


def _change(options: dict[str, Any]) -> EditDraft:
    """Give what the operator names."""
    named: dict[str, Any] = {}
    if options["content"]:
        named["content"] = read_text(options["content"])
    for name in ("type", "importance"):
        if options[name] is not None:
            named[name] = options[name]
    if options["tag"] is not None:
        named["tags"] = tuple(options["tag"])
    for name in ("valid_from", "expires_at"):
        if options[name]:
            named[name] = parse_moment(options[name], field=name)
    return EditDraft(**named)


def _edited_json(edited: EditResult, *, dry_run: bool) -> dict[str, Any]:
    return {
        "outcome": edited.outcome,
        "memory": None if dry_run else memory_json(edited.memory, is_person=True),
        "replaced": str(edited.replaced) if edited.replaced else None,
        "changes": edited.changes,
        "why": edited.why,
        "dry_run": dry_run,
    }


def _lines(done: ChangeResult) -> list[str]:
    """Say in words what was done and what follows."""
    would = f"{done.verb} would leave" if done.dry_run else f"{done.verb}:"
    lines = [f"{would} {done.id} {done.state}, {done.trust}; {format_count(done.changed, 'row')} changed."]
    lines += [f"- {plain(said)}" for said in done.consequences]
    if done.successor is not None:
        lines.append(f"In its place: {done.successor}")
    if (proof := done.certificate) is not None:
        lines.append(
            f"Gone: {format_memory_count(proof.memories)}, {format_count(proof.pieces, 'piece')}, {format_count(proof.links, 'link')}, "
            f"{format_count(proof.log_payloads, 'log payload')}, {format_count(proof.recall_logs, 'logged recall')}."
        )
        lines += [f"Still there: {plain(said)}" for said in proof.remains]
    return lines
