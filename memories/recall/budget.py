"""Cutting an answer to size: whole memories first, a piece of a long one where the rest of the budget allows."""

from collections.abc import Sequence
from dataclasses import dataclass

from memories.embedding import Encoder
from memories.language.cleaning import first_words
from memories.models import Memory
from memories.store.pieces import whole_tokens

SUMMARY_WORDS = 30
CHARS_PER_TOKEN = 4  # without a tokenizer
ITEM_OVERHEAD_TOKENS = 40  # tokens that an item's id, date and trust take beside its text
MIN_PART_TOKENS = 40  # tokens below which a part of a memory is not worth giving
MAX_CACHED_COUNTS = 50_000  # about 8 MB
_COUNTED: dict[str, int] = {}  # tokens by the content's hash; one model's tokenizer in each process


@dataclass(frozen=True)
class Portion:
    """A memory as it goes into the answer; `is_cut` where only a part of its text does."""

    memory: Memory
    text: str
    tokens: int
    is_cut: bool = False


def count_tokens(text: str, encoder: Encoder | None) -> int:
    """Count the model's tokens in a text; without a model, characters / 4."""
    return encoder.count_tokens(text) if encoder else -(-len(text) // CHARS_PER_TOKEN)


def summarise(memory: Memory, encoder: Encoder | None) -> Portion:
    """Give the first words of a memory."""
    text = first_words(memory.content, SUMMARY_WORDS)
    is_cut = len(memory.content.split()) > SUMMARY_WORDS
    text = f"{text} …" if is_cut else memory.content
    return Portion(memory, text, count_tokens(text, encoder) + ITEM_OVERHEAD_TOKENS, is_cut)


def pack(
    memories: Sequence[Memory], *, token_budget: int, encoder: Encoder | None, summary_only: bool
) -> tuple[list[Portion], list[Memory]]:
    """Give what fits into `token_budget` in order, and what was left out.

    One that does not fit whole is cut where enough of the budget is left; later, smaller ones may still fit.
    """
    counted = {} if summary_only else _counts(memories, encoder)
    portions: list[Portion] = []
    left_out: list[Memory] = []
    left = token_budget
    for memory in memories:
        portion = summarise(memory, encoder) if summary_only else _whole(memory, counted[memory.key])
        if portion.tokens > left:
            portion = _part(memory, left, encoder)
        if portion.tokens <= left and portion.text:
            portions.append(portion)
            left -= portion.tokens
        else:
            left_out.append(memory)
    return portions, left_out


def _whole(memory: Memory, tokens: int) -> Portion:
    return Portion(memory, memory.content, tokens + ITEM_OVERHEAD_TOKENS)


def _counts(memories: Sequence[Memory], encoder: Encoder | None) -> dict[int, int]:
    """Give the memories' tokens by key. A text never changes: it is counted once, or was where it was cut into pieces.

    Only hashes are kept, not texts.
    """
    if encoder is None:
        return {memory.key: count_tokens(memory.content, None) for memory in memories}
    if len(_COUNTED) >= MAX_CACHED_COUNTS:
        _COUNTED.clear()
    found = {memory.key: _COUNTED.get(memory.content_hash) for memory in memories}
    fresh = [memory for memory in memories if found[memory.key] is None]
    known = whole_tokens([memory.key for memory in fresh], encoder.model_id)
    for memory in fresh:
        count = known.get(memory.key)
        found[memory.key] = count = encoder.count_tokens(memory.content) if count is None else count
        if memory.content_hash:
            _COUNTED[memory.content_hash] = count
    return {key: count or 0 for key, count in found.items()}


def _part(memory: Memory, left: int, encoder: Encoder | None) -> Portion:
    """Give as many words of the beginning as fit; empty where too few do."""
    room = left - ITEM_OVERHEAD_TOKENS
    if room < MIN_PART_TOKENS:
        return Portion(memory, "", 0, is_cut=True)
    words = memory.content.split()
    low, high = 0, min(len(words), room)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(" ".join(words[:middle]), encoder) + 1 <= room:
            low = middle
        else:
            high = middle - 1
    text = " ".join(words[:low])
    return Portion(
        memory,
        f"{text} …" if text else "",
        count_tokens(text, encoder) + 1 + ITEM_OVERHEAD_TOKENS,
        is_cut=True,
    )
