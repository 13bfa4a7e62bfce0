"""`loci hook`: what hooks injected and captured."""

import argparse
import json
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import CommandParser

from access.management.acting import ActingCommand
from access.tokens import operator
from loci_site.hooks.stats import DEFAULT_DAYS, hook_stats, list_injected
from memories.models.short_id import short_id

EXAMPLES: Final = """\
examples:
  loci hook stats                                          the last 30 days
  loci hook stats --group ledger --days 7 --json
  loci hook injected --session 2a0a4473                    what a session got
"""


class Command(ActingCommand):
    """Parses, calls functions of loci_site.hooks, renders."""

    help = "Show what hooks injected into sessions and captured from them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="action", required=True, metavar="stats | injected")
        stats = actions.add_parser("stats", help="counts: injected, used later, captured, approved")
        stats.add_argument("--group", help="only this group")
        stats.add_argument(
            "--days", type=int, default=DEFAULT_DAYS, help=f"of how many days; default: {DEFAULT_DAYS}"
        )
        injected = actions.add_parser("injected", help="the memories that sessions got, newest first")
        injected.add_argument("--session", default="", help="only this session, by the start of its name")
        injected.add_argument("--limit", type=int, default=50, help="how many; default: 50")
        for action in (stats, injected):
            action.formatter_class = argparse.RawDescriptionHelpFormatter
            action.epilog = EXAMPLES
            action.add_argument("--json", action="store_true", help="print JSON")

    def act(self, options: dict[str, Any]) -> str:
        return show_stats(options) if options["action"] == "stats" else show_injected(options)


def show_stats(options: dict[str, Any]) -> str:
    """The counts as text or JSON."""
    found = hook_stats(operator(), group=options["group"], days=max(1, options["days"]))
    if options["json"]:
        return json.dumps(found.as_json())
    share = f" ({found.used / found.injected:.0%})" if found.injected else ""
    return "\n".join(
        [
            f"last {found.days} days: {found.sessions:,} sessions",
            f"injected  {found.injected:,} memories, {found.tokens:,} tokens",
            f"used      {found.used:,} of them named in an answer or recalled later{share}",
            f"captured  {found.captured:,}: {found.approved:,} approved, {found.rejected:,} rejected, {found.waiting:,} waiting",
        ]
    )


def show_injected(options: dict[str, Any]) -> str:
    """The injected memories as text or JSON."""
    rows = list_injected(operator(), session=options["session"], limit=max(1, options["limit"]))
    if options["json"]:
        return json.dumps([asdict(row) | {"at": row.at.isoformat(), "memory": str(row.memory)} for row in rows], ensure_ascii=False)  # fmt: skip
    lines = [
        f"{row.at:%Y-%m-%d %H:%M}  {row.client} {row.session[:8]}  {row.event:<13} {short_id(row.memory)}  {' '.join(row.text.split())[:80]}"
        for row in rows
    ]
    return "\n".join(lines) or "Nothing was injected yet."
