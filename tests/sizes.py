"""How much of a long list a test run takes: all of it in `make proof lists`, a part of it in `make test`."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")
REPORT = os.environ.get("LOCI_TEST_REPORT", "")  # the file from which a proof reads counts
IS_WHOLE = os.environ.get("LOCI_TEST_WHOLE") == "1"


def part(items: Sequence[Item], one_in: int, *, first: int = 0) -> list[Item]:
    """One in `one_in` of the items, from number `first` (counted around) on; all of them in a whole run."""
    return [*items] if IS_WHOLE else [*items[first % one_in :: one_in]]


def report(counts: dict[str, Any]) -> None:
    """Report the counts to the proof that runs these tests, if there is one."""
    if REPORT:
        with Path(REPORT).open("a", encoding="utf-8") as file:
            file.write(json.dumps(counts, ensure_ascii=False) + "\n")


def pick(whole: Item, small: Item) -> Item:
    """The first in a whole run, the second in `make test`."""
    return whole if IS_WHOLE else small
