"""The marks of the floor plan, measured: `python -m bench.house [--write docs/architecture.md]`.

Counts entries of packages, cycles, doubled class names, private functions, lines of code and of tests from the source, and
traces one store and one recall in an empty store of their own for the files that they pass.
"""

import argparse
import ast
import json
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
# Of version 0.1.0, measured the same way.
BEFORE = ("79", "4", "–, 48, 11", "–, 46", "36", "55 %", "6, 16, 53", "49,473, 40,703; 0.82")
TRACED = """
import json, sys, django; django.setup()
from access.groups import create_group
from access.tokens import operator
from memories.draft import Draft
from memories.embedding import get_encoder
from memories.recall import RecallRequest, recall
from memories.store import store
from pathlib import Path
root = str(Path.cwd())
get_encoder(timeout_s=60); actor = operator(); create_group(actor, "bench")

def passed(call):
    files, visits = {}, []
    def look(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(root) and ".venv" not in name and "/bench/" not in name:
            files[name] = files.get(name, 0) + 1
            if not visits or visits[-1] != name:
                visits.append(name)
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    own = str(Path(visits[0]).parent)
    return [len(files), visits.count(visits[0]), sum(name.startswith(own) for name in files)]

def save(text):
    return store(actor, Draft(text, group="bench"))

def ask(text):
    return recall(actor, RecallRequest(text, group="bench"))

for text in ("The port is 8081.", "Tea is at four."): save(text); ask(text)
print(json.dumps({"store": passed(lambda: save("The gate opens at nine.")), "recall": passed(lambda: ask("when does the gate open?"))}))
"""


def main(arguments: Sequence[str]) -> None:
    """Measure, print, and write into the page where asked."""
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="put the table between the marks of this page"
    )
    options = parser.parse_args(arguments)
    table = "\n".join(
        [
            "| trait | mark | 0.1.0 | now |",
            "|---|---|---|---|",
            *(f"| {a} | {b} | {before} | {c} |" for (a, b, c), before in zip(rows(), BEFORE, strict=True)),
        ]
    )
    print(table)
    if options.write:
        text = options.write.read_text(encoding="utf-8")
        before, _, after = text.partition(MARK)
        if not after and MARK not in text:
            raise SystemExit(f"{options.write} has no line '{MARK}'.")
        after = after.partition(END)[2] if END in after else after
        options.write.write_text(f"{before}{MARK}\n{table}\n{END}{after}", encoding="utf-8")


def rows() -> list[tuple[str, str, str]]:
    """Each trait with its mark and what is measured."""
    traced, lengths = trace(), [length for length, _ in architecture.function_lengths(REPOSITORY)]
    private, functions = private_functions()
    code, tests = lines(architecture.LAYERS), lines(("tests",))
    return [
        ("entries of the fullest package (admin packages 16)", "≤ 14", str(most_entries())),
        (
            "import cycles, imports for types and in functions counted",
            "0",
            str(len(architecture.module_cycles(REPOSITORY)) + len(architecture.package_cycles(REPOSITORY))),
        ),
        (
            "files of memories/store that a store passes, of all packages, visits to the file it starts in",
            "≤ 15, –, ≤ 5",
            "{2}, {0}, {1}".format(*traced["store"]),
        ),
        (
            "files of memories/recall that a recall passes, of all packages",
            "≤ 16, –",
            "{2}, {0}".format(*traced["recall"]),
        ),
        ("class names that mean two things", "0", str(len(architecture.doubled_class_names(REPOSITORY)))),
        ("private module-level functions", "≤ 35 %", f"{private / functions:.0%}"),
        (
            "function lines: median, p90, longest",
            "≤ 8, ≤ 30, ≤ 60",
            f"{median(lengths):.0f}, {quantiles(lengths, n=10)[-1]:.0f}, {max(lengths)}",
        ),
        ("lines of code, of tests; tests : code", "≥ 0.8", f"{code:,}, {tests:,}; {tests / code:.2f}"),
    ]


def most_entries() -> int:
    """Entries of the package that has most, packages of admin pages left out."""
    entries: dict[str, set[str]] = {}
    for source in architecture.sources(REPOSITORY, folders=architecture.LAYERS):
        *folders, name = source.path.removesuffix(".py").split("/")
        for depth, entry in enumerate([*folders, name][1:], start=1):
            if entry not in architecture.NOT_ENTRIES and "admin" not in folders:
                entries.setdefault("/".join(folders[:depth]), set()).add(entry)
    return max(map(len, entries.values()))


def private_functions() -> tuple[int, int]:
    """Private module-level functions, and all of them."""
    names = [
        node.name
        for source in architecture.sources(REPOSITORY, folders=architecture.LAYERS)
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return sum(name.startswith("_") for name in names), len(names)


def lines(folders: tuple[str, ...]) -> int:
    """Lines of Python, migrations left out."""
    return sum(source.text.count("\n") for source in architecture.sources(REPOSITORY, folders=folders))


def trace() -> dict[str, list[int]]:
    """Files that one store and one recall pass, visits to the file they start in, and files of that one's package."""
    with TemporaryDirectory(prefix="loci-house-") as folder:
        home = Path(folder) / "home"
        make_home(home)
        done = subprocess.run(
            [sys.executable, "-c", TRACED],
            cwd=REPOSITORY,
            env=environment(home),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
