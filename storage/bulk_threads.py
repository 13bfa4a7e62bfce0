"""Interpreter settings for blocks that create many objects at once."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# New objects between garbage collections. A batch has no cycles: at Python's 700, collecting takes a twentieth.
GC_THRESHOLD: Final = 10_000
# The turn of a thread while others wait for the interpreter; with Python's own, a batch waits 5 ms at a time.
SWITCH_INTERVAL_S: Final = 0.0002
_lock = threading.Lock()
_defaults: list[tuple[int, float]] = []  # the settings before the first running block, one entry per block


@contextmanager
def bulk_work() -> Iterator[None]:
    """Collect garbage less often and shorten threads' turns during the block.

    Blocks may overlap in several threads; a setting that is rarer or shorter already is left as it is.
    """
    with _lock:
        threshold, interval_s = (
            _defaults[0] if _defaults else (gc.get_threshold()[0], sys.getswitchinterval())
        )
        _defaults.append((threshold, interval_s))
        set_gc_threshold(max(threshold, GC_THRESHOLD) if threshold else 0)  # 0: collection is off
        sys.setswitchinterval(min(interval_s, SWITCH_INTERVAL_S))
    try:
        yield
    finally:
        with _lock:
            threshold, interval_s = _defaults.pop()
            if not _defaults:
                set_gc_threshold(threshold)
                sys.setswitchinterval(interval_s)


def set_gc_threshold(young: int) -> None:
    """Set the threshold of the youngest generation; the others stay."""
    gc.set_threshold(young, *gc.get_threshold()[1:])
