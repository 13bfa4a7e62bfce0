"""The newest release of each library, whatever pyproject.toml allows: `python -m bench.scripts.newest FILE`.

Writes them to FILE as pip reads them, and prints which differ from the tested ones, on this Python and on the newest
that Loci names.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from bench.scripts.extra import REPOSITORY

CAP = re.compile(r",?\s*<=?\s*[\w.]+")
PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)


def uncapped(declared: dict[str, Any]) -> list[str]:
    """The requirements of Loci and of its tests in pyproject.toml, without upper bounds."""
    lines = [*declared["project"]["dependencies"], *declared["dependency-groups"]["dev"]]
    parts = [line.partition(";") for line in lines]
    return [f"{CAP.sub('', wanted).strip()}{mark}{condition}" for wanted, mark, condition in parts]


def newest_python(declared: dict[str, Any]) -> str:
    """The newest Python among the classifiers of pyproject.toml."""
    versions = re.findall(r"Python :: 3\.(\d+)", "\n".join(declared["project"]["classifiers"]))
    return f"3.{max(map(int, versions))}"


def resolve(wanted: list[str], python: str) -> str:
    """Exact versions of all libraries that fit together on a Python. Raises CalledProcessError if there are none."""
    program = [str(Path(sys.executable).parent / "uv"), "pip", "compile", "-", "--quiet"]
    options = ["--python-version", python, "--no-header", "--no-annotate", "--no-emit-index-url"]
    lines = "\n".join(wanted)
    done = subprocess.run([*program, *options], input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def gap(resolved: str) -> list[str]:
    """What differs from requirements-dev.lock: "name tested → newest"."""
    lock = (REPOSITORY / "requirements-dev.lock").read_text(encoding="utf-8")
    tested: dict[str, list[str]] = {}  # a library has several pins where Pythons differ
    for name, version in PIN.findall(lock):
        tested.setdefault(name, []).append(version)
    return [
        f"{name} {', '.join(tested.get(name, ['not used']))} → {version}"
        for name, version in PIN.findall(resolved)
        if version not in tested.get(name, [])
    ]


def main(target: Path) -> None:
    """Write the file and print what is newer than the tested versions."""
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    wanted, own, newest = uncapped(declared), f"3.{sys.version_info.minor}", newest_python(declared)
    resolved = resolve(wanted, own)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(resolved, encoding="utf-8")
    here = gap(resolved)
    print(f"Python {own}: {'; '.join(here) or 'the tested versions are the newest'}")
    if newest != own:
        beyond = [line for line in gap(resolve(wanted, newest)) if line not in here]
        print(f"Python {newest}, not tested here: {'; '.join(beyond) or 'nothing else'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
