"""How fast imports are: `python -m bench.imports [--sizes 10k,100k] [--texts 2000] [--keep FOLDER]`.

Three kinds, each into an empty store of its own in a temporary folder, by the functions that `manage.py import` calls:

- vectors  drafts with ready vectors, one after the other (memories.store.bulk.store_many)
- export   an export of that store with its vectors and its whole log (sources.importing.formats.exports)
- texts    lines of raw text of about 50 tokens, embedded by the real model (sources.importing.formats.texts)

Rows are memories; each comes with its words and its vector indexed, and with its row in the log. The rate of record is by
CPU time, since other work on the machine slows the clock. `last/first` compares the last tenth of the rows with the first.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.proof.home import environment, make_home
from bench.proof.proof import REPOSITORY
from bench.sizes import sizes

HEAD = "| kind | rows | rows per CPU-s | rows/s by the clock | first tenth | last tenth | last/first | longest write lock, ms |"


def main(arguments: Sequence[str]) -> None:
    """Measure each kind at the sizes asked for and print a table."""
    options = _options(arguments)
    print(HEAD + "\n|---|---|---|---|---|---|---|---|", flush=True)
    with TemporaryDirectory(prefix="loci-imports-") as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in options.sizes:
            print(_row(_measure(folder, "vectors", size)), flush=True)
            print(_row(_measure(folder, "export", size)), flush=True)
        if options.texts:
            print(_row(_measure(folder, "texts", options.texts)), flush=True)


def _measure(folder: Path, kind: str, size: int) -> dict[str, Any]:
    home = folder / f"home-{kind}"
    make_home(home)
    command = [sys.executable, "-m", "bench.imports.work", kind, str(size), str(folder)]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment(home), stdout=subprocess.PIPE, text=True, check=True
    )
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return seen


def _row(seen: dict[str, Any]) -> str:
    first, last = seen["tenths"][0], seen["tenths"][-1]
    return (
        f"| {seen['kind']} | {seen['rows']:,} | {seen['rows'] / seen['cpu_s']:,.0f} | {seen['rows'] / seen['wall_s']:,.0f}"
        f" | {first:,.0f} | {last:,.0f} | {last / first:.2f} | {seen['lock_ms']:.0f} |"
    )


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.imports", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--sizes", type=sizes, default="10k,100k", help="memories to bring in, such as 10k,100k,1m"
    )
    parser.add_argument("--texts", type=int, default=2000, help="raw texts to embed and bring in; 0 for none")
    parser.add_argument("--keep", help="leave the stores and the export in this folder")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
