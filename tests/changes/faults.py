"""Faults that the oracle finds, and rows in words for a report."""

from typing import NamedTuple

from tests.changes.rows import COMPARED, Row, Rows, rank
from tests.changes.world import DAYS


class Fault(NamedTuple):
    """A broken promise: its kind, by which like faults are counted together, and the details."""

    kind: str
    detail: str


def what_differs(name: str, old: Row, new: Row) -> str:
    """A field as kinds of faults name it."""
    if name == "trust":
        return "more trust" if rank(new[name]) > rank(old[name]) else "less trust"
    return {"content": "another text", "type": "another text", "state": "another state"}.get(
        name, "other times" if name in DAYS else "other fields"
    )


def shown_row(row: Row) -> str:
    """A row in a few words."""
    days = ", ".join(
        f"{name} {row[name]:%Y-%m-%d}" for name in ("valid_from", "valid_to", "expires_at") if row[name]
    )
    return f"#{row['key']} v{row['version']} {row['content'][:40]!r} {row['state']} {row['trust']}" + (
        f" ({days})" if days else ""
    )


def shown_chain(before: Rows, then: Rows, root: int) -> str:
    """A chain before and after, the compared fields that differ in full."""
    was, is_ = before.standing(root, then.at), then.standing(root, then.at)
    lines = [
        f"was {', '.join(map(shown_row, was)) or 'nothing live'}; is {', '.join(map(shown_row, is_)) or 'nothing live'}"
    ]
    for old, new in zip(was, is_, strict=False):
        lines += [f"{name}: {old[name]!r} → {new[name]!r}" for name in COMPARED if old[name] != new[name]]
    return "; ".join(lines)
