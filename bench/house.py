"""The marks of the floor plan, measured: `python -m bench.house [--write docs/dev/architecture.md] [--check PAGE]`.

Counts the source, and traces a store and a recall of an agent, from the MCP tool to its answer, in an empty store of its own: which
project files they pass, how many of them are in `memories/store` or `memories/recall`, and how often the path enters the first
of these.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from bench.proof.home import environment, make_home
from bench.proof.proof import REPOSITORY
from tests import architecture

MARK = "<!-- marks -->"
END = "<!-- end of marks -->"
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
NEAR = 0.02
# Of version 0.3.0; what was measured another way then is left out.
BEFORE = (
    "95 / 91",
    "17, 8",
    "486",
    "42 %",
    "35",
    "122",
    "51",
    "426",
    "0",
    "6 / 18 / 56",
    "99,391",
    "68,513; 0.69",
)
TRACED = """
import asyncio, json, sys, threading, time, django; django.setup()
from pathlib import Path
from access.groups import create_group
from access.tokens import operator
from loci_site.mcp.auth import acting_as
from loci_site.mcp.tools import recall_memory, store_memory
from memories.embedding import get_encoder
root, passed = str(Path.cwd()) + "/", None

def look(frame, event, _):
    name = frame.f_code.co_filename
    if passed is not None and event == "call" and name.startswith(root):
        name = name.removeprefix(root)
        if not name.startswith((".venv", "bench/")) and (not passed or passed[-1] != name):
            passed.append(name)

def trace(call, room):
    global passed
    passed = []
    asyncio.run(call())
    files, passed = passed, None
    own = [name for name in files if name.startswith(room)]
    return {"files": len(set(files)), "own": len(set(own)), "visits": own.count(own[0])}

threading.setprofile(look); sys.setprofile(look)
get_encoder(timeout_s=60); actor = operator(); create_group(actor, "bench")
with acting_as(actor):
    save = lambda text: store_memory(text, group="bench")
    ask = lambda text: recall_memory(text, group="bench")
    for text in ("The port is 8081.", "Tea is at four."):
        asyncio.run(save(text)); asyncio.run(ask(text))
    found = {
        "store": trace(lambda: save("The gate opens at nine."), "memories/store/"),
        "recall": trace(lambda: ask("when does the gate open?"), "memories/recall/"),
    }
print(json.dumps(found))
"""
STATS = """
import sys
from django.core.management import call_command
import django; django.setup()
call_command("{command}")
names = {layers!r}
print("\\n" + str(sum(name.split(".")[0] in names for name in sys.modules)))
"""

OPTIONS = """
import django; django.setup()
from bench.reference.commands import page
sections = page().split("\\n## ")
print(sum(part.count("\\n| `--") for part in sections if not part.startswith(("migrate", "createsuperuser", "changepassword"))))
"""


def main(arguments: Sequence[str]) -> None:
    """Measure, print, and write into the page where asked; with --check, fail where the page says something else."""
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="put the table between the marks of this page"
    )
    parser.add_argument(
        "--check",
        type=Path,
        metavar="PAGE",
        help=f"exit 1 if a number of this page is more than {NEAR:.0%} off",
    )
    options = parser.parse_args(arguments)
    table = "\n".join(
        [
            "| trait | mark | 0.3.0 | now |",
            "|---|---|---|---|",
            *(f"| {a} | {b} | {before} | {c} |" for (a, b, c), before in zip(rows(), BEFORE, strict=True)),
        ]
    )
    print(table)
    page = options.write or options.check
    if page is None:
        return
    text = page.read_text(encoding="utf-8")
    before, mark, rest = text.partition(MARK)
    if not mark or END not in rest:
        raise SystemExit(f"{page} has no lines '{MARK}' and '{END}'.")
    fresh = f"{before}{MARK}\n{table}\n{END}{rest.partition(END)[2]}"
    if options.write:
        page.write_text(fresh, encoding="utf-8")
    elif not are_near(rest.partition(END)[0], table):
        raise SystemExit(f"{page} has another table: python -m bench.house --write {page}")


def are_near(told: str, counted: str) -> bool:
    """True if two tables have the same words, and numbers that differ by no more than NEAR, or by one."""
    one, other = (re.split(NUMBER, table.strip()) for table in (told, counted))
    return len(one) == len(other) and all(
        abs(float(a.replace(",", "")) - float(b.replace(",", ""))) <= max(1, NEAR * float(b.replace(",", "")))
        if re.fullmatch(NUMBER, a) and re.fullmatch(NUMBER, b)
        else a == b
        for a, b in zip(one, other, strict=True)
    )


def rows() -> list[tuple[str, str, str]]:
    """Each trait with its mark and what is measured."""
    with TemporaryDirectory(prefix="loci-house-") as folder:
        home = Path(folder) / "home"
        make_home(home)
        traced = json.loads(run_in(home, TRACED))
        imported = run_in(home, STATS.format(command=STATS_COMMAND, layers=architecture.LAYERS))
        options = run_in(home, OPTIONS)
        settings = run_in(
            home, "from loci_site.config.readers import KEYS; print(sum(map(len, KEYS.values())))"
        )
    store, recall = traced["store"], traced["recall"]
    lengths = [length for length, _ in architecture.function_lengths(REPOSITORY)]
    own, names = architecture.own_file_names(REPOSITORY)
    code, tests = lines(architecture.LAYERS), lines(("tests",))
    cycles = architecture.module_cycles(REPOSITORY) + architecture.package_cycles(REPOSITORY)
    return [
        ("files that a store / a recall passes from the MCP tool", "≤ 62 / ≤ 62", f"{store['files']} / {recall['files']}"),
        ("… of them in `memories/store`, and visits to the first", "≤ 12, ≤ 4", f"{store['own']}, {store['visits']}"),
        ("project modules that `loci stats` imports", "≤ 320", imported),
        ("module-level names used in their own file alone, without `_`", "0", f"{len(own) / names:.0%}"),
        ("names that `memories.store` exports", "≤ 12", str(len(exports("memories/store/__init__.py")))),
        ("settings", "≤ 85", settings),
        ("commands at the top level", "≤ 28", str(len(commands()))),
        ("their options, as docs/reference/commands.md lists them", "≤ 260", options),
        ("import cycles, imports for types and in functions counted", "0", str(len(cycles))),
        ("lines of a function: median / p90 / longest", "≤ 8 / 30 / 60", f"{median(lengths):.0f} / {quantiles(lengths, n=10)[-1]:.0f} / {max(lengths)}"),
        ("lines of product Python", "≤ 84,000", f"{code:,}"),
        ("lines of tests; tests : product", "≥ 0.75", f"{tests:,}; {tests / code:.2f}"),
    ]  # fmt: skip


STATS_COMMAND = "stats"


def exports(path: str) -> list[str]:
    """The names in the `__all__` of a module."""
    for node in ast.parse((REPOSITORY / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def commands() -> list[str]:
    """The names of Loci's commands; Django's own that Loci audits are not listed in its help."""
    found = REPOSITORY.glob("*/**/management/commands/*.py")
    own = {path.stem for path in found if ".venv" not in path.parts and path.stem != "__init__"}
    return sorted(own - {"createsuperuser", "changepassword", "migrate"})


def lines(folders: tuple[str, ...]) -> int:
    """Lines of Python, migrations left out."""
    return sum(source.text.count("\n") for source in architecture.sources(REPOSITORY, folders=folders))


def run_in(home: Path, program: str) -> str:
    """The last line that a program prints, with Loci's home there."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        env=environment(home),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


if __name__ == "__main__":
    main(sys.argv[1:])
