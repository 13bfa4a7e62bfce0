"""`loci upgrade`: how to upgrade this installation, and with `--check` whether the store is ready for it."""

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from loci_site.config.checks import TAG
from loci_site.management.deployment.licences import MODEL, Component, bill_of_materials, installed_components
from loci_site.management.deployment.upgrade import UpgradeReport, check_upgrade, upgrade_steps

EXAMPLES: Final = """\
examples:
  loci upgrade            the commands that upgrade this installation
  loci upgrade --check    compare program, store and newest backup; nothing is asked of the network, nothing is changed
  loci upgrade --check --json
  loci upgrade --licences         name, version and licence of each package that runs here
  loci upgrade --sbom > sbom.json the same as a bill of materials in CycloneDX 1.6

With --check the exit status is 1 if something should be done first.
"""


class Command(BaseCommand):
    """Renders what loci_site.management.deployment.upgrade finds."""

    help = (
        "Show how to upgrade, or with --check compare the installed version, the store and the newest backup."
    )
    requires_system_checks = [TAG]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--check", action="store_true", help="compare; change nothing")
        action.add_argument(
            "--licences", action="store_true", help="list the installed packages and their licences"
        )
        action.add_argument("--sbom", action="store_true", help="print the bill of materials as JSON")
        parser.add_argument("--json", action="store_true", help="with --check: answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["json"] and not options["check"]:
            raise CommandError("--json belongs to --check.")
        if options["licences"]:
            self.stdout.write(licences_table(installed_components()))
            return
        if options["sbom"]:
            self.stdout.write(json.dumps(bill_of_materials(installed_components()), indent=2))
            return
        if not options["check"]:
            self.stdout.write("\n".join(upgrade_steps()))
            return
        report = check_upgrade()
        self.stdout.write(as_json(report) if options["json"] else as_text(report))
        if report.to_do:
            sys.exit(1)


def licences_table(components: list[Component]) -> str:
    """Name, version and licence of each package, and of the model."""
    rows = [(each.name, each.version, each.licence) for each in components]
    rows.append((MODEL[0], "model", MODEL[1]))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(
        f"{name:<{widths[0]}}  {version:<{widths[1]}}  {licence}" for name, version, licence in rows
    )


def as_json(report: UpgradeReport) -> str:
    """The report as a JSON object."""
    values = asdict(report) | {"ready": not report.to_do}
    return json.dumps(values, indent=2, default=lambda moment: moment.isoformat())


def as_text(report: UpgradeReport) -> str:
    """The report in lines, with what to do at the end."""
    schema = "complete"
    if report.unknown:
        schema = f"newer than this version ({', '.join(report.unknown)})"
    elif report.pending:
        schema = f"the next start applies {', '.join(report.pending)}"
    backup = report.backup
    if report.backup_at:
        hours = (timezone.now() - report.backup_at).total_seconds() / 3600
        backup += f", {hours:.1f} hours old, of version {report.backup_version}"
    lines = [
        f"Installed      {report.installed}",
        f"Store          {report.store}",
        f"Schema         {schema}",
        f"Newest backup  {backup}",
        "",
        *(report.to_do or ["Ready: nothing to do first."]),
    ]
    return "\n".join(lines)
