"""Sizes as one types them: `10k`, `100k`, `1m`. What is none is refused by name, with what is allowed."""

import argparse
import re

_SIZE = re.compile(r"([1-9][0-9]{0,8})([km]?)", re.I)
_FACTORS = {"": 1, "k": 1000, "m": 1_000_000}


def size(word: str) -> int:
    """Read one size, as argparse takes a type."""
    match = _SIZE.fullmatch(word.strip())
    if match is None:
        raise argparse.ArgumentTypeError(
            f"'{word}' is no number of memories: allowed are whole numbers from 1, such as 500, 10k or 1m"
        )
    number, unit = match.groups()
    return int(number) * _FACTORS[unit.lower()]


def sizes(text: str) -> list[int]:
    """Read several sizes with commas between."""
    return [size(word) for word in text.split(",")]
