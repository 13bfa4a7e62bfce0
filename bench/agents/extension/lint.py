"""What the linter of Firefox add-ons says of the packed extension."""

import json
import shutil
import subprocess

from bench.agents.extension.pack import TARGET
from bench.proof.proof import ProofError

WEB_EXT = "web-ext@10.7.0"
LINT_S = 600
# Chrome's half of the button that opens the side panel; Firefox takes the other half.
KNOWN_WARNINGS = ("sidePanel.open is not supported",)


def lint() -> list[str]:
    """What the Firefox add-ons' own linter finds in the packed extension."""
    if shutil.which("npx") is None:
        raise ProofError("npx is not here: this proof runs web-ext with it.")
    done = subprocess.run(
        ["npx", "--yes", WEB_EXT, "lint", "--output", "json", "--source-dir", str(TARGET / "firefox")],
        capture_output=True, text=True, timeout=LINT_S, check=False,
    )  # fmt: skip
    report = json.loads(done.stdout)
    found = [
        each for each in (*report["errors"], *report["warnings"]) if each["message"] not in KNOWN_WARNINGS
    ]
    return [f"web-ext: {each['code']} {each.get('file', '')}: {each['message']}" for each in found]
