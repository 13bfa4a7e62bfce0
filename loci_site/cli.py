"""One entry for `manage.py` and the installed `loci` command."""

import os
import sys

from django.core.management import execute_from_command_line

from loci_site.config import ConfigError


def main(argv: list[str] | None = None) -> None:
    """Run the sub-command in `argv` (default: the process's own arguments); wrong settings end it with status 1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    try:
        execute_from_command_line(argv or sys.argv)
    except ConfigError as wrong:
        sys.exit(str(wrong))
