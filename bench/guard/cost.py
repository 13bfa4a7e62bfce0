"""What the guard adds to a store: `python -m bench.guard.cost [--stores 600]`.

In a home of its own, the same process stores texts over REST with the guard and without it, in an order drawn anew each round. Prints the medians, their ratios, and the time that the guard itself took inside those stores.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.proof.home import make_home, run


def main(arguments: Sequence[str]) -> None:
    """Measure in a new home and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.guard.cost", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--stores", type=int, default=600, help="rounds of two stores each (default 600)")
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="loci-guard-") as temporary:
        home = Path(temporary) / "home"
        make_home(home)
        print(run([sys.executable, "-m", "bench.guard.cost_work", str(options.stores)], home), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
