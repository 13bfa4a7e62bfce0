"""`loci store upgrade`: how to upgrade this installation, and with `--check` whether the store is ready for it."""

import json
from dataclasses import asdict
from typing import Any, Final

from django.utils import timezone

from access.management.command import CommandAnswer, CommandVerb
from access.management.options import either, flag
from loci_site.management.deployment.licences import MODEL, Component, bill_of_materials, installed_components
from loci_site.management.deployment.upgrade import UpgradeReport, check_upgrade, upgrade_steps


def upgrade(options: dict[str, Any]) -> CommandAnswer:
    """The commands that upgrade this installation, or what is asked for about it."""
    if options["licences"] or options["sbom"]:
        components = installed_components()
        bill = bill_of_materials(components)
        return CommandAnswer(
            bill, json.dumps(bill, indent=2) if options["sbom"] else licences_table(components)
        )
    if not options["check"]:
        return CommandAnswer({"steps": upgrade_steps()}, "\n".join(upgrade_steps()))
    report = check_upgrade()
    at = report.backup_at.isoformat() if report.backup_at else None
    body = asdict(report) | {"backup_at": at, "ready": not report.to_do}
    return CommandAnswer(body, as_text(report), status=int(bool(report.to_do)))


def licences_table(components: list[Component]) -> str:
    """Name, version and licence of each package, and of the model."""
    rows = [(each.name, each.version, each.licence) for each in components]
    rows.append((MODEL[0], "model", MODEL[1]))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(
        f"{name:<{widths[0]}}  {version:<{widths[1]}}  {licence}" for name, version, licence in rows
    )


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


UPGRADE: Final = CommandVerb(
    upgrade,
    "show how to upgrade; with --check, compare the installed version, the store and the newest backup",
    (
        either(
            flag("--check", "compare; change nothing"),
            flag("--licences", "list the installed packages and their licences"),
            flag("--sbom", "print the bill of materials as JSON"),
        ),
    ),
)
