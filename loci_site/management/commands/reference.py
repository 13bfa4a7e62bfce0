"""`manage.py reference`: generate the reference pages of the docs from the code."""

import argparse
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from loci_site.management.reference.pages import FOLDER, stale_pages, write_pages

EXAMPLES: Final = """\
examples:
  loci reference             rewrite docs/reference/
  loci reference --check     only list the pages that are out of date
"""


class Command(BaseCommand):
    """Writes, or checks, docs/reference/."""

    help = "Generate the reference pages of the docs from the code (in a checkout)."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument(
            "--check", action="store_true", help="write nothing; status 1 if a page is out of date"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not FOLDER.parent.is_dir():
            raise CommandError("No docs/ folder found: this command needs a checkout of Loci.")
        if options["check"]:
            stale = stale_pages()
            if stale:
                raise CommandError(f"Out of date: {', '.join(stale)}. Run 'loci reference'.")
            self.stdout.write("All pages are up to date.")
        else:
            written = write_pages()
            self.stdout.write(f"Written: {', '.join(written)}." if written else "All pages are up to date.")
