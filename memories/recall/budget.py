"""Fits an answer into a token budget: whole memories first, a part of a long one if enough of the budget is left."""

from collections.abc import Sequence
from dataclasses import dataclass

from memories.embedding import Encoder
from memories.language.cleaning import first_words
from memories.models import Memory
from memories.recall.weights import CHARS_PER_TOKEN, ITEM_OVERHEAD_TOKENS, MIN_PART_TOKENS, SUMMARY_WORDS
from memories.store.pieces import whole_tokens

MAX_CACHED_COUNTS = 50_000  # about 8 MB
_TOKEN_COUNTS: dict[str, int] = {}  # by content hash; each process has one model's tokenizer


@dataclass(frozen=True)
class Portion:
    """A memory as the answer shows it; `is_cut` if only a part of its text is in it."""

    memory: Memory
    text: str
    tokens: int
    is_cut: bool = False


def pack(
    memories: Sequence[Memory], *, token_budget: int, encoder: Encoder | None, summary_only: bool
) -> tuple[list[Portion], list[Memory]]:
    """The portions that fit into `token_budget`, in order, and the memories left out.

    A memory that does not fit whole is cut if enough of the budget is left; later, smaller ones may still fit.
    """
    counts = {} if summary_only else count_memory_tokens(memories, encoder)
    portions: list[Portion] = []
    left_out: list[Memory] = []
    left = token_budget
    for memory in memories:
        if summary_only:
            portion = summarise(memory, encoder)
        else:
            portion = Portion(memory, memory.content, counts[memory.key] + ITEM_OVERHEAD_TOKENS)
        if portion.tokens > left:
            portion = cut_to_fit(memory, left, encoder)
        if portion.tokens <= left and portion.text:
            portions.append(portion)
            left -= portion.tokens
        else:
            left_out.append(memory)
    return portions, left_out


def summarise(memory: Memory, encoder: Encoder | None) -> Portion:
    """The first words of a memory."""
    text = first_words(memory.content, SUMMARY_WORDS)
    is_cut = len(memory.content.split()) > SUMMARY_WORDS
    text = f"{text} …" if is_cut else memory.content
    return Portion(memory, text, count_tokens(text, encoder) + ITEM_OVERHEAD_TOKENS, is_cut)


def cut_to_fit(memory: Memory, tokens: int, encoder: Encoder | None) -> Portion:
    """As many first words of a memory as fit into `tokens`; empty if too few do."""
    available = tokens - ITEM_OVERHEAD_TOKENS
    if available < MIN_PART_TOKENS:
        return Portion(memory, "", 0, is_cut=True)
    words = memory.content.split()
    low, high = 0, min(len(words), available)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(" ".join(words[:middle]), encoder) + 1 <= available:
            low = middle
        else:
            high = middle - 1
    text = " ".join(words[:low])
    spent = count_tokens(text, encoder) + 1 + ITEM_OVERHEAD_TOKENS
    return Portion(memory, f"{text} …" if text else "", spent, is_cut=True)


def count_tokens(text: str, encoder: Encoder | None) -> int:
    """The model's tokens in a text; without a model, characters / 4."""
    return encoder.count_tokens(text) if encoder else -(-len(text) // CHARS_PER_TOKEN)


def count_memory_tokens(memories: Sequence[Memory], encoder: Encoder | None) -> dict[int, int]:
    """The memories' tokens by key, cached by content hash: a text never changes.

    Memories that were cut into pieces have their count from then. The cache holds hashes, not texts.
    """
    if encoder is None:
        return {memory.key: count_tokens(memory.content, None) for memory in memories}
    if len(_TOKEN_COUNTS) >= MAX_CACHED_COUNTS:
        _TOKEN_COUNTS.clear()
    found = {memory.key: _TOKEN_COUNTS.get(memory.content_hash) for memory in memories}
    fresh = [memory for memory in memories if found[memory.key] is None]
    known = whole_tokens([memory.key for memory in fresh], encoder.model_id)
    for memory in fresh:
        count = known.get(memory.key)
        found[memory.key] = count = encoder.count_tokens(memory.content) if count is None else count
        if memory.content_hash:
            _TOKEN_COUNTS[memory.content_hash] = count
    return {key: count or 0 for key, count in found.items()}
