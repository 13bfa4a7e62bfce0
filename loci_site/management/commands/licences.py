"""`loci licences`: the packages that this Loci runs with, as a table or as a bill of materials."""

import argparse
import json
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser

from loci_site.management.deployment.licences import MODEL, bill_of_materials, installed_components

EXAMPLES: Final = """\
examples:
  loci licences                      name, version and licence of each package
  loci licences --sbom > sbom.json   a bill of materials in CycloneDX 1.6
"""


class Command(BaseCommand):
    """Prints the table or the bill."""

    help = "List the packages that Loci runs with and their licences; --sbom prints a bill of materials."
    requires_system_checks = []  # it reads no settings

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("--sbom", action="store_true", help="print CycloneDX 1.6 as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        components = installed_components()
        if options["sbom"]:
            self.stdout.write(json.dumps(bill_of_materials(components), indent=2))
            return
        rows = [(each.name, each.version, each.licence) for each in components]
        rows.append((MODEL[0], "model", MODEL[1]))
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        for name, version, licence in rows:
            self.stdout.write(f"{name:<{widths[0]}}  {version:<{widths[1]}}  {licence}")
