"""`manage.py mcp --stdio`: the MCP server for one agent, which starts it as a child process."""

import os
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from access.errors import LociError
from access.groups import check_slug
from access.management.command import shape_parser
from loci_site.management.first_start import migrate_if_needed
from loci_site.mcp.transports.stdio import StdioCaller, serve_stdio, stdio_actor

EXAMPLES: Final = """\
examples:
  loci mcp --stdio
  loci mcp --stdio --group ledger           'ledger' as the default group
  loci mcp --stdio --read-only              recall, inspect, stats and get_context only
  loci mcp --stdio --admin                  every right, purge included
  LOCI_TOKEN=loci_... loci mcp --stdio      with the rights of that token

Without a token it may read, write and make groups, in every group; --admin adds every other right, purge included.
Standard output belongs to the protocol; messages go to standard error.
Over HTTP the same server answers at /mcp: see 'loci up'.
"""


class Command(BaseCommand):
    """Parses the options, prepares the database and starts the stdio server."""

    help = "Serve MCP on standard input and output."
    requires_system_checks = []  # an agent is waiting, and warnings must not reach its stream

    def add_arguments(self, parser: CommandParser) -> None:
        shape_parser(parser, EXAMPLES)
        parser.add_argument("--stdio", action="store_true", help="serve on standard input and output")
        parser.add_argument("--read-only", action="store_true", help="offer only the tools that read")
        parser.add_argument(
            "--admin", action="store_true", help="without a token: every right, purge included"
        )
        parser.add_argument("--group", default="", help="group for calls that name none")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["stdio"]:
            raise CommandError("Use --stdio. Over HTTP, MCP is part of the server: 'loci up'.")
        caller = StdioCaller(
            secret=os.environ.get("LOCI_TOKEN", ""),
            group=options["group"],
            read_only=options["read_only"],
            admin=options["admin"],
        )
        try:
            if options["group"]:
                check_slug(options["group"])
            migrate_if_needed()
            stdio_actor(caller)
        except LociError as error:
            raise CommandError(str(error)) from error
        serve_stdio(caller)
