"""docs/dev/proof.md: what each proof found last, written between the marks that the page has for it."""

import os
import platform
from pathlib import Path

from bench.proof.proof import REPOSITORY, Finding, Proof
from storage.sqlite.driver import DRIVER

PAGE = REPOSITORY / "docs" / "dev" / "proof.md"


def write_report(proof: Proof, finding: Finding, machine: str, *, page: Path = PAGE) -> None:
    """Put a finding into the page in the place of the last one."""
    put_between(page, *marks(proof.name), as_markdown(finding, machine))


def put_between(page: Path, begin: str, end: str, text: str) -> None:
    """Put a text between two marks of a page. Raises ValueError where the page has no such place."""
    before, _, rest = page.read_text(encoding="utf-8").partition(f"{begin}\n")
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page.name} has no marks {begin} … {end}; nothing was written.")
    page.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", encoding="utf-8")


def marks(name: str) -> tuple[str, str]:
    """The comments between which the runner writes."""
    return f"<!-- {name}: written by the runner -->", f"<!-- {name}: end -->"


def as_markdown(finding: Finding, machine: str) -> str:
    """A finding as a verdict, the machine, and a table."""
    amount = "1 fault" if len(finding.faults) == 1 else f"{len(finding.faults)} faults"
    verdict = "**It holds.**" if finding.holds else f"**It does not hold: {amount}.**"
    rows = [f"| {name} | {_shown(value)} |" for name, value in finding.numbers.items()]
    faults = [f"- {fault}" for fault in finding.faults]
    lines = [f"{verdict} {machine}.", "", "| measured | |", "|---|---:|", *rows]
    return "\n".join([*lines, *(["", *faults] if faults else [])])


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def machine() -> str:
    """What the numbers were measured on: processor, cores, memory, system, Python and SQLite."""
    library = DRIVER.module.sqlite_version if DRIVER.module is not None else "none"
    parts = [
        f"{os.cpu_count()} cores of {_processor()}",
        f"{_memory_gib():.0f} GiB",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        f"SQLite {library}",
    ]
    return ", ".join(parts)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _memory_gib() -> float:
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) / 2**30
