"""`loci completion`: print a script by which a shell completes Loci's commands and options."""

import argparse
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser

from loci_site.management.completion import SHELLS, completion_script

EXAMPLES: Final = """\
examples:
  loci completion bash > ~/.local/share/bash-completion/completions/loci
  loci completion zsh >> ~/.zshrc
"""


class Command(BaseCommand):
    """Prints the script."""

    help = "Print a script that completes commands and options in bash or zsh."
    requires_system_checks = []  # it reads no settings

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("shell", choices=SHELLS)

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(completion_script(options["shell"]), ending="")
