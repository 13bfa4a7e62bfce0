"""One entry for `manage.py` and the installed `loci` command."""

import os
import sys

from django.core.management import execute_from_command_line


def main(argv: list[str] | None = None) -> None:
    """Run the sub-command in `argv` (default: the process's own arguments)."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    execute_from_command_line(argv or sys.argv)
