"""The marks of the floor plan, measured: `python -m bench.house [--write docs/dev/architecture.md] [--check PAGE]`.

Counts the source, and traces a store and a recall of an agent, from the MCP tool to its answer, in an empty store of its own: which
project files they pass, how many of them are in `memories/store` or `memories/recall`, and how often the path enters the first
of these.
"""

import argparse
import ast
import asyncio
import re
import sys
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from bench.proof.home import make_home
from bench.proof.proof import REPOSITORY
from bench.proof.report import put_between
from tests import architecture

MARK = "<!-- marks -->"
END = "<!-- end of marks -->"
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
NEAR = 0.02


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
        help=f"exit 1 if a number of this page is more than {NEAR:.0%}% off",
    )
    chosen = parser.parse_args(arguments)
    lines = [f"| {' | '.join(row)} |" for row in rows()]
    table = "\n".join(["| trait | mark | 0.3.0 | now |", "|---|---|---|---|", *lines])
    print(table)
    page = chosen.write or chosen.check
    if page is None:
        return
    if chosen.write:
        put_between(page, MARK, END, table)
    elif not are_near(page.read_text(encoding="utf-8").partition(MARK)[2].partition(END)[0], table):
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


def rows() -> list[tuple[str, str, str, str]]:
    """Each trait with its mark, what it was in version 0.3.0, and what is measured now."""
    with TemporaryDirectory(prefix="loci-house-") as folder:
        home = make_home(Path(folder) / "home")
        # Each in a process of its own.
        store, recall = home.ask("house:traced")
        imported, options, settings = (
            home.ask(f"house:{each}") for each in ("imported", "options", "settings")
        )
    lengths = [length for length, _ in architecture.function_lengths(REPOSITORY)]
    own, names = architecture.own_file_names(REPOSITORY), architecture.public_names(REPOSITORY)
    code, tests = lines(architecture.LAYERS), lines(("tests",))
    cycles = architecture.module_cycles(REPOSITORY) + architecture.package_cycles(REPOSITORY)
    return [
        ("files that a store / a recall passes from the MCP tool", "≤ 62 / ≤ 62", "95 / 91", f"{store['files']} / {recall['files']}"),
        ("… of them in `memories/store`, and visits to the first", "≤ 12, ≤ 4", "17, 8", f"{store['own']}, {store['visits']}"),
        ("project modules that `loci stats` imports", "≤ 320", "486", str(imported)),
        ("module-level names used in their own file alone, without `_`", "0", "42 %", f"{len(own) / len(names):.0%}"),
        ("names that `memories.store` exports", "≤ 12", "35", str(len(exports("memories/store/__init__.py")))),
        ("settings", "≤ 85", "122", str(settings)),
        ("commands at the top level", "≤ 28", "51", str(len(commands()))),
        ("their options, as docs/reference/commands.md lists them", "≤ 260", "426", str(options)),
        ("import cycles, imports for types and in functions counted", "0", "0", str(len(cycles))),
        ("lines of a function: median / p90 / longest", "≤ 8 / 30 / 60", "6 / 18 / 56", f"{median(lengths):.0f} / {quantiles(lengths, n=10)[-1]:.0f} / {max(lengths)}"),
        ("lines of product Python", "≤ 84,000", "99,391", f"{code:,}"),
        ("lines of tests; tests : product", "≥ 0.75", "68,513; 0.69", f"{tests:,}; {tests / code:.2f}"),
    ]  # fmt: skip


def traced() -> list[dict[str, int]]:
    """The project files that a store and a recall pass from the MCP tool: all, those of its own package, and visits to the first of these."""
    from access.groups import create_group  # noqa: PLC0415 - as below: only where Django is set up
    from access.tokens import operator  # noqa: PLC0415
    from loci_site.mcp.calls import acting_as  # noqa: PLC0415
    from loci_site.mcp.tools import recall_memory, store_memory  # noqa: PLC0415
    from memories.embedding import get_encoder  # noqa: PLC0415

    passed: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(f"{REPOSITORY}/"):
            name = name.removeprefix(f"{REPOSITORY}/")
            if not name.startswith((".venv", "bench/")) and (not passed or passed[-1] != name):
                passed.append(name)

    def call(work: Callable[..., Coroutine[Any, Any, object]], text: str, room: str) -> dict[str, int]:
        passed.clear()
        asyncio.run(work(text, group="bench"))
        files = [*passed]
        own = [name for name in files if name.startswith(room)]
        return {"files": len(set(files)), "own": len(set(own)), "visits": own.count(own[0])}

    threading.setprofile(look)
    sys.setprofile(look)
    get_encoder(timeout_s=60)
    create_group(operator(), "bench")
    with acting_as(operator()):
        # The first two load what every process loads once.
        for text, question in (
            ("The port is 8081.", "port"),
            ("Tea is at four.", "tea"),
            ("The gate opens at nine.", "when does the gate open?"),
        ):
            found = [
                call(store_memory, text, "memories/store/"),
                call(recall_memory, question, "memories/recall/"),
            ]
        return found


def imported() -> int:
    """The project modules that `loci stats` imports."""
    from django.core.management import call_command  # noqa: PLC0415 - as above

    call_command("stats")
    return sum(name.split(".")[0] in architecture.LAYERS for name in sys.modules)


def options() -> int:
    """The options of Loci's own commands, as the reference lists them."""
    from bench.reference.commands import page  # noqa: PLC0415 - as above

    others = ("migrate", "createsuperuser", "changepassword")
    sections = page().split("\n## ")
    return sum(part.count("\n| `--") for part in sections if not part.startswith(others))


def settings() -> int:
    """The keys of config.toml."""
    from loci_site.config.readers import KEYS  # noqa: PLC0415 - as above

    return sum(map(len, KEYS.values()))


def exports(path: str) -> list[str]:
    """The names in the `__all__` of a module."""
    for node in ast.parse((REPOSITORY / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def commands() -> list[str]:
    """The names of Loci's commands; Django's own that Loci audits are not listed in its help."""
    found = (
        path
        for layer in architecture.LAYERS
        for path in (REPOSITORY / layer).rglob("management/commands/*.py")
    )
    own = {path.stem for path in found if path.stem != "__init__"}
    return sorted(own - {"createsuperuser", "changepassword", "migrate"})


def lines(folders: tuple[str, ...]) -> int:
    """Lines of Python, migrations left out."""
    return sum(source.text.count("\n") for source in architecture.sources(REPOSITORY, folders=folders))


if __name__ == "__main__":
    main(sys.argv[1:])
