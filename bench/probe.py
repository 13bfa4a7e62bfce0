"""What the search for near memories costs before a store, in a group of one size within stores of several.

`python -m bench.probe [SIZE ...]` fills a store of each size in a temporary folder (default 10000 and 100000) and times
the probe in a group of 1,000 memories beside 200 global ones. It ends with 1 where two sizes differ by more than 5 ms.
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
from bench.proof.proof import REPOSITORY
from bench.sizes import size

SIZES = (10_000, 100_000)
ALLOWED_MS = 5.0


def main(arguments: Sequence[str]) -> int:
    """Fill and time; print a line for each size."""
    parser = argparse.ArgumentParser(prog="python -m bench.probe", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sizes", nargs="*", type=size, default=SIZES, metavar="SIZE", help="such as 10k 100k")
    p50s = []
    for count in parser.parse_args(arguments).sizes:
        with TemporaryDirectory(prefix="loci-probe-") as folder:
            seen = _measure(Path(folder) / "home", count)
        p50s.append(seen["p50_ms"])
        shown = ", ".join(f"{name} {value:g}" for name, value in seen.items())
        print(f"{count:>9,} memories: {shown}", flush=True)
    spread = max(p50s) - min(p50s)
    print(f"p50 differs by {spread:.2f} ms; {ALLOWED_MS:g} ms are allowed")
    return int(spread > ALLOWED_MS)


def _measure(home: Path, count: int) -> dict[str, Any]:
    make_home(home)
    done = subprocess.run(
        [sys.executable, "-m", "bench.probe_fill", str(count)],
        cwd=REPOSITORY,
        env=environment(home) | {"PATH": os.environ.get("PATH", "")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
