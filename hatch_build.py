"""What hatchling adds to pyproject.toml: the extra `locked` with exact versions, and the documentation in the wheel."""

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# A line of requirements.lock: name, version and marker; the hashes follow on lines of their own.
PIN = re.compile(r"^(?P<pin>[A-Za-z0-9][^=\s]*==[^\s;]+)(?P<marker> ; [^\\\n]+?)? *\\?$", re.MULTILINE)


class LockedExtra(MetadataHookInterface):
    """`loci-team-memory[locked]` installs the versions of requirements.lock, which the tests ran with; `extras` are the others."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the extras."""
        lock = Path(self.root, "requirements.lock").read_text(encoding="utf-8")
        pins = [found["pin"] + (found["marker"] or "") for found in PIN.finditer(lock)]
        metadata["optional-dependencies"] = {"locked": pins, **self.config["extras"]}


class DocsInWheel(BuildHookInterface[Any]):
    """Puts the pages of docs/ into the package as `loci_site/_docs`, without pictures and the pages for developers."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files and their places in the wheel."""
        docs = Path(self.root, "docs")
        for page in sorted(set(docs.rglob("*.md")) - set(docs.glob("dev/*"))):
            build_data["force_include"][str(page)] = f"loci_site/_docs/{page.relative_to(docs).as_posix()}"
