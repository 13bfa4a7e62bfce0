"""`loci memory context`: what an agent should know at the start of a session."""

from typing import Any, Final

from access.management.command import GROUP, THREAD, CommandAnswer, CommandVerb, option
from access.tokens import local_operator
from access.visibility import Narrowing
from memories.browse.serializers import PackOut
from memories.management.field_options import AS_OF, KNOWN_AT
from memories.management.output import printable
from memories.sessions.context_pack import DEFAULT_BUDGET, get_context


def context(options: dict[str, Any]) -> CommandAnswer:
    """The context pack as an agent gets it."""
    pack = get_context(
        local_operator(),
        group=options["group"],
        query=options["query"],
        thread=options["thread"],
        token_budget=options["token_budget"],
        narrowing=Narrowing(as_of=options["as_of"], known_at=options["known_at"]),
    )
    return CommandAnswer(PackOut.json(pack), printable(pack.text, keep_lines=True))


CONTEXT: Final = CommandVerb(
    context,
    "print the context pack, with which a session begins",
    (
        GROUP,
        option("--query", default="", metavar="TEXT", help="what the session is about; adds what answers it"),
        THREAD.but(help="the thread whose checkpoint to show"),
        option("--token-budget", type=int, metavar="N", help=f"default: {DEFAULT_BUDGET}"),
        AS_OF,
        KNOWN_AT,
    ),
    uses_model=True,
)
