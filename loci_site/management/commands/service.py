"""`loci service`: install Loci as a service of the login or the machine, or remove it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError

from access.management.command import CommandAnswer, CommandVerb, LociCommand, either, flag
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


def install(options: dict[str, Any]) -> CommandAnswer:
    """Write the service's file and start it, or show what would be written."""
    plan = plan_service(is_system=options["system"], home=settings.LOCI.home)
    if options["print"]:
        return CommandAnswer({"file": plan.text}, plan.text.removesuffix("\n"))
    with _explained():
        lines = [*install_service(plan, starts=not options["no_start"]), *advice(plan)]
    return CommandAnswer({"lines": lines}, "\n".join(lines))


def uninstall(options: dict[str, Any]) -> CommandAnswer:
    with _explained():
        lines = uninstall_service(plan_service(is_system=options["system"], home=settings.LOCI.home))
    return CommandAnswer({"lines": lines}, "\n".join(lines))


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CommandError(f"The service's file cannot be changed: {error}") from error


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


KIND: Final = either(
    flag("--user", "a service of your login"),
    flag("--system", "a service of the machine; needs root"),
    required=True,
)


class Command(LociCommand):
    help = "Install Loci as a service of systemd or launchd, or remove it."
    examples = EXAMPLES
    requires_system_checks = [TAG]
    verbs = {
        "install": CommandVerb(
            install,
            "write the service's file and start it",
            (
                KIND,
                flag("--print", "print the file instead of writing it"),
                flag("--no-start", "write the file only"),
            ),
        ),
        "uninstall": CommandVerb(uninstall, "stop the service and delete its file", (KIND,)),
    }
