"""`manage.py context`: what an agent should know at the start of a session."""

from typing import Any, Final

from django.core.management.base import CommandParser

from access.tokens import local_operator
from access.visibility import Narrowing
from memories.browse.serializers import pack_json
from memories.language.timestamps import parse_moment
from memories.management.output import FaceCommand, printable
from memories.sessions.context_pack import DEFAULT_BUDGET, get_context

EXAMPLES: Final = """\
examples:
  loci context --group ledger
  loci context --group ledger --query "fix the invoice rounding" --token-budget 3000
  loci context --group ledger --thread rollout --json | jq '.sections[] | {title, used}'
  loci context --group ledger > context.txt     for a hook that starts a session
"""


class Command(FaceCommand):
    """Prints a context pack as an agent gets it."""

    help = "Print what an agent should know at the start of a session: the context pack."
    examples = EXAMPLES
    uses_model = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--query", default="", metavar="TEXT", help="what the session is about; adds what answers it"
        )
        parser.add_argument(
            "--thread", default="", metavar="NAME", help="the thread whose checkpoint to show"
        )
        parser.add_argument("--token-budget", type=int, metavar="N", help=f"default: {DEFAULT_BUDGET}")
        parser.add_argument("--as-of", metavar="TIME", help="what was true then: 2026-11-21T09:30:00Z")
        parser.add_argument("--known-at", metavar="TIME", help="what Loci knew then")

    def act(self, options: dict[str, Any]) -> int:
        as_of, known_at = (
            parse_moment(options[name], field=name) if options[name] else None
            for name in ("as_of", "known_at")
        )
        pack = get_context(
            local_operator(),
            group=options["group"],
            query=options["query"],
            thread=options["thread"],
            token_budget=options["token_budget"],
            narrowing=Narrowing(as_of=as_of, known_at=known_at),
        )
        if options["json"]:
            self.print_json(pack_json(pack))
        else:
            self.stdout.write(printable(pack.text, keep_lines=True))
        return 0
