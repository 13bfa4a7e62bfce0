"""What the C library is asked about the process's memory; only glibc knows these functions."""

import ctypes
from contextlib import suppress


def ask_c_library(function: str, *arguments: int) -> None:
    """Call a function that takes whole numbers, where there is one of that name."""
    with suppress(OSError, AttributeError, TypeError):  # another library; Windows takes no None
        getattr(ctypes.CDLL(None), function)(*arguments)
