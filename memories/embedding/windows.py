"""Cuts a long text into windows that fit the encoder, at the ends of paragraphs, sentences or words."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from .tokenizer import TextTokenizer, TokenSpan

SENTENCE_ENDS: Final = frozenset(".!?…。！？")
# Closing marks that may stand between a sentence's end and the white space after it.
CLOSERS: Final = "\"'”’)]»」』"
# With less room than this a window says nothing.
MIN_WINDOW: Final = 16


@dataclass(frozen=True)
class Window:
    """A window of a text: character offsets, and the number of tokens without [CLS] and [SEP]."""

    start: int
    end: int
    tokens: int


class CutQuality(IntEnum):
    """How good a place between two tokens is to cut; higher is better."""

    INSIDE_WORD = 0
    WORD = 1
    SPACE = 2
    SENTENCE = 3
    LINE = 4
    PARAGRAPH = 5


def split_text(text: str, tokenizer: TextTokenizer, *, window: int, overlap: int) -> list[Window]:
    """Give windows of at most `window` tokens that cover the whole text, each repeating up to `overlap` tokens.

    A text that fits is one span. White space belongs to the window before it.
    """
    if window < MIN_WINDOW:
        raise ValueError(f"A window of {window} tokens is too small; at least {MIN_WINDOW} are needed.")
    count = tokenizer.count(text)  # a third of the time that the tokens' places take
    if count <= window:
        return [Window(0, len(text), count)]
    tokens = tokenizer.tokens(text)
    # Half a window at most, so that each window begins after the one before it.
    return list(_windows(text, tokens, tokenizer, window, min(max(overlap, 0), window // 2 - 1)))


def _windows(
    text: str, tokens: list[TokenSpan], tokenizer: TextTokenizer, window: int, overlap: int
) -> Iterator[Window]:
    first = 0
    while True:
        stop = _stop(text, tokens, first, window)
        span = _span(text, tokens, first, stop, tokenizer)
        while span.tokens > window and stop > first + 1:
            # A word cut in two is read differently from its middle on; take that many tokens less.
            stop = max(first + 1, stop - (span.tokens - window))
            span = _span(text, tokens, first, stop, tokenizer)
        yield span
        if stop == len(tokens):
            return
        first = _next_first(text, tokens, first, stop, overlap)


def _span(text: str, tokens: list[TokenSpan], first: int, stop: int, tokenizer: TextTokenizer) -> Window:
    start = tokens[first].start if first else 0
    end = tokens[stop].start if stop < len(tokens) else len(text)
    return Window(start, end, tokenizer.count(text[start:end]))


def _stop(text: str, tokens: list[TokenSpan], first: int, window: int) -> int:
    """The best place in the second half of the window; of equal ones the last."""
    last = first + window
    if last >= len(tokens):
        return len(tokens)
    return max(
        range(first + window // 2, last + 1), key=lambda index: (_cut_before(text, tokens, index), index)
    )


def _next_first(text: str, tokens: list[TokenSpan], first: int, stop: int, overlap: int) -> int:
    """The best place to begin within the overlap; of equal ones the first, so that more is repeated."""
    places = range(max(first + 1, stop - overlap), max(first + 2, stop)) if overlap else (stop,)
    return max(places, key=lambda index: (min(_cut_before(text, tokens, index), CutQuality.SENTENCE), -index))


def _cut_before(text: str, tokens: list[TokenSpan], index: int) -> CutQuality:
    before, after = tokens[index - 1], tokens[index]
    gap = text[before.end : after.start]
    if "\n" in gap:
        return CutQuality.PARAGRAPH if gap.count("\n") > 1 else CutQuality.LINE
    said = text[max(0, before.end - 3) : before.end].rstrip(CLOSERS)
    if said and said[-1] in SENTENCE_ENDS and (gap or said[-1] in "。！？"):
        return CutQuality.SENTENCE
    if gap:
        return CutQuality.SPACE
    return CutQuality.INSIDE_WORD if before.word == after.word else CutQuality.WORD
