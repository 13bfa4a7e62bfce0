"""Splits a file's lines into chunks that fit the encoder: whole lines, cut between blocks, with some overlap."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sources.artifacts.chunking.blocks import Block, FileText, blocks_of
from sources.models import ChunkState, FileKind

MAX_TOKENS: Final = 220  # of a chunk; path and heading are embedded with it, and all fit 254
_OVERLAP_SHARE: Final = 0.15  # of a chunk, repeated at the next one's start if a block is cut
MIN_TOKENS: Final = 10  # a smaller block, such as a heading without a text, goes to the next one
_MAX_LINE_CHARS: Final = 4000  # a longer line is data: minified code, Base64

CountTokens = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True)
class FileChunk:
    """Lines `start` to `end` of a file (from 1, both included) as one text under a heading.

    The guard decides its state, its weight in a search, and what was found in it, by kind.
    """

    start: int
    end: int
    text: str
    heading: str
    tokens: int
    state: ChunkState = ChunkState.LIVE
    weight: float = 1.0
    findings: dict[str, int] = field(default_factory=dict)


def split_file(text: FileText, kind: FileKind, path: str, count: CountTokens) -> list[FileChunk]:
    """The chunks of a file in order; `count` returns the tokens of each of some texts."""
    lines = [line[:_MAX_LINE_CHARS] for line in text.lines]
    tokens = count(lines) if lines else []
    chunks: list[FileChunk] = []
    for block in _join_blocks(blocks_of(kind, lines, text.headings, path), tokens):
        chunks += _split_block(block, lines, tokens, count)
    return chunks


def _join_blocks(blocks: Sequence[Block], tokens: Sequence[int]) -> Iterator[Block]:
    """The blocks, merged with their successors under the same heading while they fit one chunk.

    A block too small to be found alone, such as a heading without a text, goes to the next one.
    """
    held: Block | None = None
    size = 0
    for block in blocks:
        own = sum(tokens[block.start : block.end])
        if held is not None and size + own <= MAX_TOKENS and _may_join(held, block, size):
            held = Block(held.start, block.end, block.heading or held.heading, block.is_whole)
            size += own
            continue
        if held is not None:
            yield held
        held, size = block, own
    if held is not None:
        yield held


def _may_join(held: Block, block: Block, size: int) -> bool:
    if held.heading == block.heading:
        return not (held.is_whole or block.is_whole)
    return size < MIN_TOKENS and not held.is_whole


def _split_block(
    block: Block, lines: Sequence[str], tokens: Sequence[int], count: CountTokens
) -> Iterator[FileChunk]:
    """One chunk if the block fits, else several chunks of whole lines that overlap."""
    start, end = _strip_empty(lines, block.start, block.end)
    while start < end:
        stop, size = start, 0
        while stop < end and (size + tokens[stop] <= MAX_TOKENS or stop == start):
            size += tokens[stop]
            stop += 1
        stop = _last_good_cut(lines, start, stop, end)
        if stop == start + 1 and tokens[start] > MAX_TOKENS:
            yield from _split_line(start, lines[start], block.heading, count)
        else:
            first, last = _strip_empty(lines, start, stop)
            text = "\n".join(lines[first:last])
            if text.strip():
                yield FileChunk(first + 1, last, text, block.heading, sum(tokens[first:last]))
        start = stop if stop >= end else _repeat_from(tokens, start, stop)


def _strip_empty(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return start, end


def _last_good_cut(lines: Sequence[str], start: int, stop: int, end: int) -> int:
    """Where to cut: after the last empty line of the second half, else at `stop`."""
    if stop >= end:
        return stop
    for at in range(stop, start + (stop - start) // 2, -1):
        if not lines[at - 1].strip():
            return at
    return stop


def _repeat_from(tokens: Sequence[int], start: int, stop: int) -> int:
    """The first line of the next chunk: it repeats up to _OVERLAP_SHARE, but always advances by a line."""
    room, at = int(MAX_TOKENS * _OVERLAP_SHARE), stop
    while at - 1 > start and tokens[at - 1] <= room:
        room -= tokens[at - 1]
        at -= 1
    return at


def _split_line(at: int, line: str, heading: str, count: CountTokens) -> Iterator[FileChunk]:
    part: list[str] = []
    size = 0
    words = [word[i : i + 200] for word in line.split() for i in range(0, len(word), 200)]
    for word, tokens in zip(words, count(words), strict=True):
        if part and size + tokens > MAX_TOKENS:
            yield FileChunk(at + 1, at + 1, " ".join(part), heading, size)
            part, size = [], 0
        part.append(word)
        size += tokens
    if part:
        yield FileChunk(at + 1, at + 1, " ".join(part), heading, size)
