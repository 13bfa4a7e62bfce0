"""What a group's own memories need against another group's global ones: `python -m bench.groups FOLDER [FOLDER …]`.

Each folder is as for `manage.py evaluate`, with questions of two groups at least. Its corpus is stored with every memory global, as facts are by default. Then
each question is asked twice: in its own group ("own"), and in another one that knows nothing of it ("other"), where
another group's memory is the right answer. One row for each penalty that a memory from elsewhere may get. A set of one group is
cut into parts, as if each was a team's.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.proof.home import environment, make_home
from bench.proof.proof import REPOSITORY, ProofError

PARTS = 20  # of a set that has one group


def main(arguments: Sequence[str]) -> None:
    """Measure each folder and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.groups", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "folders", nargs="+", type=Path, help="corpus.jsonl, queries.jsonl, perhaps split.json"
    )
    parser.add_argument("--split", default="", help="only the questions that split.json lists by this name")
    options = parser.parse_args(arguments)
    for folder in options.folders:
        for name in ("corpus.jsonl", "queries.jsonl", *(["split.json"] if options.split else [])):
            if not (folder / name).is_file():
                parser.error(f"there is no {name} in {folder}")
    print("| set | penalty | own R@10 | own MRR | other R@10 | other MRR |\n|---|---|---|---|---|---|")
    for folder in options.folders:
        with TemporaryDirectory(prefix="loci-groups-") as temporary:
            try:
                parted = _parted(folder, Path(temporary) / folder.name)
                rows = _measure(Path(temporary) / "home", parted, options.split)
            except (ProofError, ValueError, KeyError) as fault:
                parser.error(f"{folder.name}: {fault}")
            for row in rows:
                print(f"| {folder.name} | " + " | ".join(f"{value:g}" for value in row) + " |", flush=True)


def _measure(home: Path, folder: Path, split: str) -> list[list[float]]:
    make_home(home)
    done = subprocess.run(
        [sys.executable, "-m", "bench.groups.work", str(folder), split],
        cwd=REPOSITORY,
        env=environment(home) | {"PATH": os.environ.get("PATH", "")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ProofError(done.stderr.strip().splitlines()[-1])
    rows: list[list[float]] = json.loads(done.stdout)
    return rows


def _parted(folder: Path, into: Path) -> Path:
    """Write a copy of the set whose lines are in several groups; a question goes where its first answer is."""
    corpus, queries = (_lines(folder / name) for name in ("corpus.jsonl", "queries.jsonl"))
    if len({line["group"] for line in corpus}) == 1:
        for at, line in enumerate(corpus):
            line["group"] = f"part-{at * PARTS // len(corpus)}"
        groups = {line["id"]: line["group"] for line in corpus}
        for query in queries:
            query["group"] = next((groups[id_] for id_ in query["relevant"] if id_ in groups), "part-0")
    into.mkdir(parents=True)
    for name, lines in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        (into / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    if (folder / "split.json").is_file():
        (into / "split.json").write_bytes((folder / "split.json").read_bytes())
    return into


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


if __name__ == "__main__":
    main(sys.argv[1:])
