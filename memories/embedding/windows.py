"""Splits a long text into windows that fit the encoder, at the ends of paragraphs, sentences or words."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from .tokenizer import TextTokenizer, TokenSpan

SENTENCE_ENDS: Final = frozenset(".!?…。！？")
# Closing marks that may come between a sentence's end and the white space after it.
CLOSERS: Final = "\"'”’)]»」』"
# Tokens; a smaller window has too little context.
MIN_WINDOW: Final = 16


@dataclass(frozen=True)
class Window:
    """A window of a text: character offsets, and the number of tokens without [CLS] and [SEP]."""

    start: int
    end: int
    tokens: int


class CutQuality(IntEnum):
    """How good a cut between two tokens is; higher is better."""

    INSIDE_WORD = 0
    WORD = 1
    SPACE = 2
    SENTENCE = 3
    LINE = 4
    PARAGRAPH = 5


def split_text(text: str, tokenizer: TextTokenizer, *, window: int, overlap: int) -> list[Window]:
    """Windows of at most `window` tokens that cover the whole text, each repeating up to `overlap` tokens.

    A text that fits is one window. White space belongs to the window before it.
    """
    if window < MIN_WINDOW:
        raise ValueError(f"A window of {window} tokens is too small; at least {MIN_WINDOW} are needed.")
    count = tokenizer.count(text)  # takes a third of the time of the tokens' offsets
    if count <= window:
        return [Window(0, len(text), count)]
    tokens = tokenizer.tokens(text)
    # Half a window at most, so that each window begins after the one before it.
    overlap = min(max(overlap, 0), window // 2 - 1)
    windows, first, stop = list[Window](), 0, 0
    while stop < len(tokens):
        stop, found = fit_window(text, tokens, tokenizer, first, window)
        windows.append(found)
        if stop < len(tokens):
            first = find_next_start(text, tokens, first, stop, overlap)
    return windows


def fit_window(
    text: str, tokens: list[TokenSpan], tokenizer: TextTokenizer, first: int, window: int
) -> tuple[int, Window]:
    """The window from token `first` on, with the index of the token after it."""

    def window_until(stop: int) -> Window:
        start = tokens[first].start if first else 0
        end = tokens[stop].start if stop < len(tokens) else len(text)
        return Window(start, end, tokenizer.count(text[start:end]))

    stop = find_stop(text, tokens, first, window)
    found = window_until(stop)
    while found.tokens > window and stop > first + 1:
        # The rest of a word cut in two is tokenized differently; drop the excess tokens.
        stop = max(first + 1, stop - (found.tokens - window))
        found = window_until(stop)
    return stop, found


def find_stop(text: str, tokens: list[TokenSpan], first: int, window: int) -> int:
    """The best cut in the second half of the window; of equal ones the last."""
    last = first + window
    if last >= len(tokens):
        return len(tokens)
    return max(
        range(first + window // 2, last + 1), key=lambda index: (cut_quality(text, tokens, index), index)
    )


def find_next_start(text: str, tokens: list[TokenSpan], first: int, stop: int, overlap: int) -> int:
    """The best start of the next window within the overlap; of equal ones the first, which repeats more."""
    places = range(max(first + 1, stop - overlap), max(first + 2, stop)) if overlap else (stop,)
    return max(places, key=lambda index: (min(cut_quality(text, tokens, index), CutQuality.SENTENCE), -index))


def cut_quality(text: str, tokens: list[TokenSpan], index: int) -> CutQuality:
    """Quality of a cut before the token."""
    before, after = tokens[index - 1], tokens[index]
    gap = text[before.end : after.start]
    if "\n" in gap:
        return CutQuality.PARAGRAPH if gap.count("\n") > 1 else CutQuality.LINE
    ending = text[max(0, before.end - 3) : before.end].rstrip(CLOSERS)
    if ending and ending[-1] in SENTENCE_ENDS and (gap or ending[-1] in "。！？"):
        return CutQuality.SENTENCE
    if gap:
        return CutQuality.SPACE
    return CutQuality.INSIDE_WORD if before.word == after.word else CutQuality.WORD
