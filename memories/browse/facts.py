"""A memory's fields in words, as its page and `inspect` list them."""

from memories.browse.history import format_value
from memories.draft import STORED
from memories.models import Memory
from memories.queries.snapshot import as_json

# Each place words these in its own way, or leaves them out.
WORDED = frozenset(
    {
        "content", "type", "scope", "tags", "metadata", "source", "source_ref", "confidence", "importance", "valid_from",
        "valid_to", "expires_at", "outside",
    }
)  # fmt: skip
FURTHER = tuple(field for field in STORED if field.name not in WORDED)


def further_facts(memory: Memory) -> list[tuple[str, str]]:
    """The other fields that a draft sets, as (title, value)."""
    return [(field.title, format_value(as_json(getattr(memory, field.name)))) for field in FURTHER]
