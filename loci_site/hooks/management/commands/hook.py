"""`loci hook`: what hooks injected and captured."""

from typing import Any, Final

from access.management.command import GROUP, LIMIT, CommandAnswer, CommandVerb, LociCommand, option
from access.tokens import operator
from loci_site.hooks.shown import captured_lines
from loci_site.hooks.stats import (
    DEFAULT_DAYS,
    TAKEN_BACK,
    Captured,
    HookStats,
    Injected,
    hook_stats,
    list_captured,
    list_injected,
)
from memories.lifecycle.verbs import forget
from memories.models.short_id import short_id

EXAMPLES: Final = """\
examples:
  loci hook stats                                          the last 30 days
  loci hook stats --group ledger --days 7 --json
  loci hook injected --session 2a0a4473                    what a session got
  loci hook captured --group ledger                        what was captured, and what became of it
  loci hook captured --undo 9ba66046                       forget a capture; 'loci memory restore' brings it back
"""


def _show_stats(options: dict[str, Any]) -> CommandAnswer:
    found = hook_stats(operator(), group=options["group"], days=max(1, options["days"]))
    share = f" ({found.used / found.injected:.0%})" if found.injected else ""
    text = "\n".join(
        [
            f"last {found.days} days: {found.sessions:,} sessions",
            f"injected  {found.injected:,} memories, {found.tokens:,} tokens",
            f"used      {found.used:,} of them named in an answer or recalled later{share}",
            f"captured  {found.captured:,}: {found.approved:,} approved, {found.rejected:,} rejected, {found.waiting:,} waiting",
        ]
    )
    return CommandAnswer(HookStats.json(found), text)


def _show_injected(options: dict[str, Any]) -> CommandAnswer:
    rows = list_injected(operator(), session=options["session"], limit=max(1, options["limit"]))
    lines = [
        f"{row.at:%Y-%m-%d %H:%M}  {row.client} {row.session[:8]}  {row.event:<13} {short_id(row.memory)}  {' '.join(row.text.split())[:80]}"
        for row in rows
    ]
    return CommandAnswer(
        [Injected.json(row) for row in rows], "\n".join(lines) or "Nothing was injected yet."
    )


def _show_captured(options: dict[str, Any]) -> CommandAnswer:
    if options["undo"]:
        done = forget(operator(), options["undo"], reason=TAKEN_BACK)
        return CommandAnswer(
            {"memory": str(done.id)}, "It is forgotten; 'loci memory restore' brings it back."
        )
    rows = list_captured(operator(), group=options["group"], limit=max(1, options["limit"]))
    shown = [Captured.json(row) for row in rows]
    return CommandAnswer(shown, captured_lines(shown))


class Command(LociCommand):
    help = "Show what hooks injected into sessions and captured from them."
    examples = EXAMPLES
    verbs = {
        "stats": CommandVerb(
            _show_stats, "counts: injected, used later, captured, approved",
            (GROUP.but(help="only this group"),
             option("--days", type=int, default=DEFAULT_DAYS, help=f"of how many days; default: {DEFAULT_DAYS}")),
        ),
        "injected": CommandVerb(
            _show_injected, "the memories that sessions got, newest first",
            (option("--session", default="", help="only this session, by the start of its name"),
             LIMIT.but(default=50)),
        ),
        "captured": CommandVerb(
            _show_captured, "the memories that were captured, newest first, and what became of each",
            (GROUP.but(help="only this group"), LIMIT.but(default=50),
             option("--undo", metavar="ID", help="forget this one, by the id that the list shows")),
        ),
    }  # fmt: skip
