"""`manage.py checkpoint`: save the state of the work, or print the last one saved."""

import json
from typing import Any, Final

from django.core.management.base import CommandParser

from access.errors import NotFound
from access.groups import find_group
from access.tokens import operator
from memories.browse.serializers import checkpoint_json, saved_checkpoint_json
from memories.management.output import FaceCommand, printable, read_text
from memories.sessions.checkpoints import save_checkpoint
from memories.sessions.threads import latest_checkpoint

EXAMPLES: Final = """\
examples:
  loci checkpoint "Rounding is fixed; the migration still has to run." --group ledger
  loci checkpoint '{"done": ["rounding"], "next": "migrate"}' --group ledger --thread rollout
  tail -50 session.log | loci checkpoint - --group ledger
  loci checkpoint --group ledger --thread rollout     prints the last one

exit status: 0 saved or printed, 1 an error (also where nothing was saved yet), 2 wrong usage
"""


class Command(FaceCommand):
    """Saves a text or a JSON object as the newest checkpoint; without a state, prints the newest."""

    help = "Save the state of the work for the next session, or print the last one saved."
    examples = EXAMPLES

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "state",
            nargs="?",
            help="a text or a JSON object; - reads standard input; without it, the last one is printed",
        )
        parser.add_argument("--thread", default="", metavar="NAME", help="the thread that it is about")

    def act(self, options: dict[str, Any]) -> int:
        if options["state"] is None:
            return self._print_last(options)
        saved = save_checkpoint(
            operator(),
            group=options["group"],
            thread=options["thread"],
            state=read_state(read_text(options["state"], field="state")),
        )
        if options["json"]:
            self.print_json(checkpoint_json(saved))
            return 0
        new = " (a new group)" if saved.group_created else ""
        place = f" of the thread '{printable(options['thread'])}'" if options["thread"] else ""
        self.stdout.write(f"Saved checkpoint {saved.count}{place} in {printable(saved.group)}{new}.")
        if saved.warning:
            self.stdout.write(printable(saved.warning))
        return 0

    def _print_last(self, options: dict[str, Any]) -> int:
        group = find_group(operator(), options["group"])
        last = latest_checkpoint(group, options["thread"])
        if last is None:
            where = f"the thread '{options['thread']}'" if options["thread"] else f"'{group.slug}'"
            raise NotFound(f"No checkpoint of {where} is saved yet.", field="thread")
        if options["json"]:
            self.print_json(saved_checkpoint_json(last))
            return 0
        thread = f" · {last.thread.name}" if last.thread else ""
        self.stdout.write(printable(f"{last.created_at:%Y-%m-%d %H:%M} UTC · {last.author_name}{thread}"))
        text = last.state.get("text") or json.dumps(last.state, ensure_ascii=False, indent=2)
        self.stdout.write(printable(str(text), keep_lines=True))
        return 0


def read_state(text: str) -> dict[str, Any] | str:
    """The JSON object that the text is, else the text."""
    try:
        state = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return state if isinstance(state, dict) else text
