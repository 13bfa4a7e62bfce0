"""A memory's confidence over time: what the log says moved it, and between that, decay."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.utils import timezone

from access.audit.operations import Operation
from access.models import AuditEntry
from memories.browse.history import changed_fields
from memories.decay import UNUSED_BELOW, falls_below, protections_of
from memories.models import Memory
from memories.queries.labels import PROMOTED_SOURCE
from memories.types import State

_STEPS = 12  # of a drawn decay, which is a curve
_TOLD_MOVES = 4  # the newest, in a line
_STORED, _PROMOTED, _DECAYED, _RECALLED = "stored", "promoted", "decayed", "recalled"
_MOVED_BY: Final[dict[str, str]] = {
    Operation.REINFORCE: "reinforced", Operation.EDIT: "edited", Operation.MERGE: "merged",
}  # fmt: skip


@dataclass(frozen=True)
class _ConfidenceMove:
    """Something that moved the confidence, or what becomes of it: `what` in a word, and the values, None where unknown."""

    at: datetime
    what: str
    before: float | None = None
    after: float | None = None


@dataclass(frozen=True)
class ConfidenceCurve:
    """The moves, oldest first, and the confidence now.

    `below_at` is about when it falls below UNUSED_BELOW unless it is recalled; `protected_by` says why it does not decay.
    """

    moves: tuple[_ConfidenceMove, ...]
    confidence: float
    now: datetime
    below_at: datetime | None
    protected_by: tuple[str, ...]

    @property
    def line(self) -> str:
        """The curve in a line, for agents: the first and the newest moves of the value, today, and what is ahead."""
        moved = [move for move in self.moves if move.before != move.after or move is self.moves[0]]
        shown = [_told(move) for move in moved]
        if len(shown) > _TOLD_MOVES + 1:
            shown[1:-_TOLD_MOVES] = ["…"]
        past = " → ".join([*shown, f"{self.confidence:.2f} today"])
        ahead = f"does not decay: {', '.join(self.protected_by)}" if self.protected_by else ""
        if self.below_at is not None:
            ahead = f"below {UNUSED_BELOW:g} about {self.below_at:%Y-%m-%d} unless recalled"
        return f"confidence {past}" + (f"; {ahead}" if ahead else "")

    @property
    def points(self) -> list[tuple[datetime, float]]:
        """The curve from its first known value to the confidence now; a decay in steps of the rule, at its average rate."""
        points = list[tuple[datetime, float]]()
        for move in self.moves:
            if move.before is None and move.after is None:
                continue
            if move.what == _DECAYED and points:
                points += _fall(points[-1], (move.at, move.after or 0.0))
                continue
            points += [(move.at, value) for value in (move.before, move.after) if value is not None]
        return [*points, (self.now, self.confidence)]


def _told(move: _ConfidenceMove) -> str:
    value = "unknown" if move.after is None else f"{move.after:.2f}"
    return f"{value} ({move.at:%Y-%m-%d} {move.what})"


def _fall(start: tuple[datetime, float], end: tuple[datetime, float]) -> list[tuple[datetime, float]]:
    """The points after `start` of a decay that ends in `end`: the same share is lost in the same time."""
    (since, value), (until, left) = start, end
    shares = [step / _STEPS for step in range(1, _STEPS)]
    return [(since + (until - since) * share, value * (left / value) ** share) for share in shares] + [end]


def confidence_curve(
    memory: Memory, versions: Sequence[Memory], entries: Sequence[AuditEntry]
) -> ConfidenceCurve:
    """The curve of a version, from the log rows of its chain, newest first; no queries.

    Decay has one log row for many memories: what is lost between two known values is its work.
    """
    now = timezone.now()
    numbers = {version.id: version.version for version in versions}
    earlier = [e for e in reversed(entries) if e.memory_id and numbers[e.memory_id] <= memory.version]
    logged = [move for entry in earlier for move in _moves_of(memory, entry)]
    if not logged or logged[0].what not in (_STORED, _PROMOTED):  # the log is cut
        logged.insert(0, _ConfidenceMove(min(version.created_at for version in versions), _STORED))
    if memory.last_accessed is not None:
        logged.append(_ConfidenceMove(memory.last_accessed, _RECALLED))
    moves = [*_with_decays(sorted(logged, key=lambda move: move.at))]
    known = [move.after for move in moves if move.after is not None]
    if known and memory.confidence < known[-1] and memory.decayed_at is not None:
        at = max(memory.decayed_at, *(move.at for move in moves if move.after is not None))
        moves.append(_ConfidenceMove(at, _DECAYED, known[-1], memory.confidence))
        moves.sort(key=lambda move: move.at)
    protected_by = protections_of(memory)
    below_at = None if protected_by else falls_below(memory, UNUSED_BELOW)
    return ConfidenceCurve(
        tuple(moves), memory.confidence, now, max(below_at, now) if below_at else None, protected_by
    )


def _with_decays(moves: Sequence[_ConfidenceMove]) -> Iterator[_ConfidenceMove]:
    """The moves, with a decay before each that found less than the one before it had left."""
    level: float | None = None
    for move in moves:
        if level is not None and move.before is not None and move.before < level:
            yield _ConfidenceMove(move.at, _DECAYED, level, move.before)
        level = level if move.after is None else move.after
        yield move


def _moves_of(memory: Memory, entry: AuditEntry) -> Iterator[_ConfidenceMove]:
    """The move that a log row tells of; none if it changed neither the confidence, the text nor the protection."""
    if entry.operation == Operation.STORE:
        value = (entry.payload.get("after") or {}).get("confidence")
        what = _PROMOTED if memory.source == PROMOTED_SOURCE else _STORED
        yield _ConfidenceMove(entry.at, what, after=value)
        return
    pairs = {name: pair for name, pair in changed_fields(entry.payload).items() if pair[0] != pair[1]}
    what = _word(entry, pairs)
    if "confidence" in pairs:
        yield _ConfidenceMove(entry.at, what, *pairs["confidence"])
    elif "content" in pairs or (entry.memory_id == memory.id and pairs.keys() & {"state", "trust", "pinned"}):
        yield _ConfidenceMove(entry.at, what)


def _word(entry: AuditEntry, pairs: dict[str, list[Any]]) -> str:
    """What a log row did to a memory, in a word."""
    if entry.payload.get("undone"):
        return "undone"
    if (word := _MOVED_BY.get(entry.operation)) and pairs.keys() & {"confidence", "content"}:
        return word
    match pairs:
        case {"state": [_, State.DORMANT]}:
            return "put to sleep"
        case {"state": [State.DORMANT, State.LIVE]}:
            return "woken"
        case {"state": [_, State.LIVE]}:
            return "restored"
        case {"state": [_, state]}:
            return str(state)
        case {"trust": [_, trust]}:
            return str(trust)
        case {"pinned": [_, is_pinned]}:
            return "pinned" if is_pinned else "unpinned"
    return "changed"
