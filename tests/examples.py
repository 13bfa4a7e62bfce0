"""How many examples a property is tried on: few in `make test`, ten times as many in `make proof properties`."""

import os

TIMES = int(os.environ.get("LOCI_TEST_EXAMPLES", "1"))


def examples(few: int) -> int:
    """Number of examples for this run."""
    return few * TIMES
