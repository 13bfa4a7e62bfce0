"""`loci service`: install Loci as a service of the login or the machine, or remove it."""

import argparse
import os
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from access.errors import LociError
from loci_site.config import KEYS
from loci_site.config.checks import TAG
from loci_site.management.deployment.service import (
    ServicePlan,
    install_service,
    plan_service,
    uninstall_service,
)

EXAMPLES: Final = """\
examples:
  loci service install --user            start Loci with your login, and now
  sudo loci service install --system     start Loci with the machine, as the user loci, with the data in /var/lib/loci
  loci service install --system --print  show the unit or property list, and change nothing
  loci service uninstall --user          stop Loci and remove the service; the memories stay
"""


class Command(BaseCommand):
    """Installs or removes the service."""

    help = "Install Loci as a service of systemd or launchd, or remove it."
    requires_system_checks = [TAG]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        install = actions.add_parser("install", help="write the service's file and start it")
        install.add_argument("--print", action="store_true", help="print the file instead of writing it")
        install.add_argument("--no-start", action="store_true", help="write the file only")
        uninstall = actions.add_parser("uninstall", help="stop the service and delete its file")
        for action in (install, uninstall):
            kind = action.add_mutually_exclusive_group(required=True)
            kind.add_argument("--user", action="store_true", help="a service of your login")
            kind.add_argument("--system", action="store_true", help="a service of the machine; needs root")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, or print what would be written; an error ends it with one sentence and status 1."""
        try:
            plan = plan_service(is_system=options["system"], home=settings.LOCI.home)
            if options["action"] == "uninstall":
                self._print(*uninstall_service(plan))
            elif options["print"]:
                self.stdout.write(plan.text, ending="")
            else:
                self._print(*install_service(plan, starts=not options["no_start"]))
                self._print(*advice(plan))
        except LociError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"The service's file cannot be changed: {error}") from error

    def _print(self, *lines: str) -> None:
        for line in lines:
            self.stdout.write(line)


def advice(plan: ServicePlan) -> list[str]:
    """What a person should know after an installation."""
    lines = [f"Data: {plan.service.home}. Settings: config.toml in it."]
    variables = sorted(
        {name for specs in KEYS.values() for spec in specs.values() for name in spec.variables}
    )
    if left_out := [name for name in variables if os.environ.get(name)]:
        lines.append(f"Not taken over from your shell: {', '.join(left_out)}. Write them into config.toml.")
    if plan.path.suffix == ".service":
        user = "" if plan.service.is_system else " --user"
        lines.append(
            f"First password and token: journalctl{user} -u loci. State: systemctl{user} status loci."
        )
        if user:
            lines.append("To run without a login: loginctl enable-linger")
    else:
        lines.append(f"First password and token: {plan.service.home}/logs/launchd.log")
    return lines
