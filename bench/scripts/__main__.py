"""How well each script is found: `python -m bench.scripts [--report docs/recall.md]`.

The facts of bench/scripts/facts.py are stored in one group, with the real model, and each one's question is asked by words
alone and in the usual mode. A row for each language: the share of questions whose fact is first, and among the first five.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.proof.home import make_home, run


def main(arguments: Sequence[str]) -> None:
    """Measure, print the table, and put it into the report."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.scripts", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--report", type=Path, help="put the table between the marks of this page")
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="loci-scripts-") as temporary:
        home = Path(temporary) / "home"
        make_home(home)
        report = [str(options.report.absolute())] if options.report else []
        told = run([sys.executable, "-m", "bench.scripts.work", *report], home)
    for row in json.loads(told):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
