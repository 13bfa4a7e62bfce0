"""The newest release of each library, whatever pyproject.toml allows: `python -m bench.scripts.newest FILE`.

Writes them to FILE as pip reads them, and prints which differ from the tested ones, on this Python and on the newest
that Loci names.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CAP = re.compile(r",?\s*<=?\s*[\w.]+")
PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)


def uncapped() -> list[str]:
    """The requirements of Loci and of its tests without upper bounds."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    parts = [line.partition(";") for line in lines]
    return [f"{CAP.sub('', wanted).strip()}{mark}{condition}" for wanted, mark, condition in parts]


def newest_python() -> str:
    """The newest Python among the classifiers of pyproject.toml."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = re.findall(r"Python :: 3\.(\d+)", "\n".join(project["classifiers"]))
    return f"3.{max(map(int, versions))}"


def resolve(python: str) -> str:
    """Exact versions of all libraries that fit together on a Python. Raises CalledProcessError if there are none."""
    program = [str(Path(sys.executable).parent / "uv"), "pip", "compile", "-", "--quiet"]
    options = ["--python-version", python, "--no-header", "--no-annotate", "--no-emit-index-url"]
    wanted = "\n".join(uncapped())
    done = subprocess.run([*program, *options], input=wanted, stdout=subprocess.PIPE, text=True, check=True)
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
    own, newest = f"3.{sys.version_info.minor}", newest_python()
    resolved = resolve(own)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(resolved, encoding="utf-8")
    here = gap(resolved)
    print(f"Python {own}: {'; '.join(here) or 'the tested versions are the newest'}")
    if newest != own:
        beyond = [line for line in gap(resolve(newest)) if line not in here]
        print(f"Python {newest}, not tested here: {'; '.join(beyond) or 'nothing else'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
