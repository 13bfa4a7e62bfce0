"""How much of a long list a test run takes: all of it in `make proof lists`, a part of it in `make test`."""

import os
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
IS_WHOLE = os.environ.get("LOCI_TEST_WHOLE") == "1"


def part(items: Sequence[Item], one_in: int, *, first: int = 0) -> list[Item]:
    """One in `one_in` of the items, from number `first` (counted around) on; all of them in a whole run."""
    return [*items] if IS_WHOLE else [*items[first % one_in :: one_in]]
