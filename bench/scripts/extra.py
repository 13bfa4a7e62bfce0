"""The packages of an optional feature in the tested versions, for a checkout: `python -m bench.scripts.extra encryption`.

Printed as pip reads them. `pip install '.[encryption]'` would put a copy of Loci beside the checkout's own.
"""

import re
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
NAME = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?P<extras>\[[^\]]*\])?")


def requirements(extra: str) -> list[str]:
    """The requirements of an extra, each with the version of requirements-dev.lock. Raises SystemExit if there is none."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["extras"]
    if extra not in extras:
        raise SystemExit(f"'{extra}' is no extra. Use NAME={', NAME='.join(sorted(extras))}.")
    lock = (REPOSITORY / "requirements-dev.lock").read_text(encoding="utf-8")
    found = []
    for line in extras[extra]:
        match = NAME.match(line)
        assert match is not None, line
        pin = re.search(rf"^{re.escape(match['name'])}==(\S+)", lock, re.MULTILINE | re.IGNORECASE)
        found.append(f"{match[0]}=={pin[1]}" if pin else line)
    return found


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1] if len(sys.argv) > 1 else "")))
