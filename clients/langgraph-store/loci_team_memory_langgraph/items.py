"""Items as memories: the value is the text, the address is in the metadata and, to be found by, in tags.

The text is what counts: a person who corrects it in Loci corrects the value.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from langgraph.store.base import Item, MatchCondition, SearchItem
from loci_team_memory_client import calls

MARK: Final = "langgraph"  # the tag and the source of every item
_ADDRESS: Final = "langgraph"  # the key of the metadata
_EDITED: Final = "text"  # the field of a value that a person rewrote as plain text
_MAX_TAG_CHARS: Final = 60
_MAX_LABELS: Final = 29  # of a namespace that become tags; a memory has at most 32
_WAITING: Final = frozenset({"candidate", "rejected", "quarantined"})
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": lambda value, other: value == other,
    "$ne": lambda value, other: value != other,
    "$gt": lambda value, other: float(value) > float(other),
    "$gte": lambda value, other: float(value) >= float(other),
    "$lt": lambda value, other: float(value) < float(other),
    "$lte": lambda value, other: float(value) <= float(other),
}
Memory = calls.MemoryOut | calls.VersionedOut | calls.ItemOut


def stored_as(
    namespace: Sequence[str], key: str, value: Mapping[str, Any], *, is_indexed: bool, ttl: float | None
) -> dict[str, Any]:
    """The arguments of store_memory() for an item; `ttl` in minutes."""
    field, text = _text_of(value)
    address = {"namespace": [*namespace], "key": key, "field": field, "indexed": is_indexed, "ttl": ttl}
    return {
        "content": text,
        # Two facts that say the same become one memory; two events stay two, as two items do.
        "type": "episodic",
        "scope": "group",
        "source": MARK,
        # The item's identity: a hash, since Loci trims and masks what is readable, and two keys must not become one.
        "source_ref": f"sha256:{sha256(json.dumps([*namespace, key]).encode()).hexdigest()}",
        "tags": [*tags_of(namespace), _tag(f"key:{key}")],
        "metadata": {_ADDRESS: address},
        "expires_at": until(ttl),
    }


def tags_of(namespace: Sequence[str]) -> list[str]:
    """The tags that every item of a namespace has, and of those below it."""
    return [MARK, *(_tag(f"{place}:{label}") for place, label in enumerate(namespace[:_MAX_LABELS]))]


def key_tags(namespace: Sequence[str], key: str) -> list[str]:
    """The tags of one item; others that differ in case, or after 60 characters, have them too."""
    return [*tags_of(namespace), _tag(f"key:{key}")]


def _tag(text: str) -> str:
    return " ".join(text.split())[:_MAX_TAG_CHARS].strip()


def until(ttl: float | None) -> datetime | None:
    """When an item expires that is put or read now."""
    return None if ttl is None else datetime.now(UTC) + timedelta(minutes=ttl)


def _text_of(value: Mapping[str, Any]) -> tuple[str, str]:
    """The field whose text is the content, if the value is one text; else an empty name and the value as JSON."""
    match [*value.items()]:
        case [(str(field), str(text))] if text and text == text.strip() and "\r" not in text:
            return field, text
    return "", json.dumps(dict(value), ensure_ascii=False, indent=1)


def address_of(row: Memory) -> dict[str, Any] | None:
    """The address of an item that counts now; None for another memory, one that waits for a curator, or one that expired."""
    address = row.metadata.get(_ADDRESS)
    is_over = row.expires_at is not None and datetime.fromisoformat(row.expires_at) <= datetime.now(UTC)
    is_item = isinstance(address, dict) and isinstance(address.get("namespace"), list) and "key" in address
    return address if is_item and row.trust not in _WAITING and row.state == "live" and not is_over else None


def item_of(row: Memory, address: Mapping[str, Any], *, score: float | None = None) -> SearchItem:
    """The item that a memory holds."""
    return SearchItem(
        tuple(address["namespace"]),
        address["key"],
        _value_of(row.content, address.get("field", "")),
        datetime.fromisoformat(row.created_at),
        datetime.fromisoformat(row.updated_at),
        score,
    )


def _value_of(text: str, field: str) -> dict[str, Any]:
    if field:
        return {field: text}
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {_EDITED: text}


def fits(value: Any, wanted: Any) -> bool:
    """True if a value fits a filter: equal, part by part, or as the operators of the filter say."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compare(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(
            fits(value.get(name), each) for name, each in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        is_list = isinstance(value, list | tuple) and len(value) == len(wanted)
        return is_list and all(fits(each, other) for each, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _compare(value: Any, operator: str, other: Any) -> bool:
    if operator not in _OPERATORS:
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        return _OPERATORS[operator](value, other)
    except (TypeError, ValueError):  # not two numbers
        return False


def matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """True if a namespace begins or ends as the condition says; `*` stands for any label."""
    path, length = condition.path, len(condition.path)
    part = namespace[:length] if condition.match_type == "prefix" else namespace[len(namespace) - length :]
    return len(namespace) >= length and all(
        want in ("*", label) for want, label in zip(path, part, strict=True)
    )


def as_item(found: SearchItem) -> Item:
    """What get() returns."""
    return Item(
        value=found.value, key=found.key, namespace=found.namespace,
        created_at=found.created_at, updated_at=found.updated_at,
    )  # fmt: skip
