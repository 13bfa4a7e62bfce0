"""The story of a memory on one line of time, as a picture: its confidence, what was done to it, and its recalls."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils.translation import gettext

from access.admin.columns import in_words, shorten
from access.admin.day_range import local_moment
from access.audit.operations import Operation
from memories.browse.history import HistoryEntry
from memories.browse.inspection import Inspection
from memories.browse.recalls import QuestionThatFound
from memories.models import FeedbackVerdict
from memories.types import WITHDRAWN_TRUSTS

_WIDTH, _HEIGHT = 1000, 48  # of the curve, which the page stretches to its width
_NEAR = 1.2  # % of the width: marks that are nearer become one, so that each can be pointed at
_MAX_LINES = 12  # in the title of a mark
_RECALL, _PLAIN, _GOOD, _BAD = _KINDS = ("recall", "plain", "good", "bad")  # of several, the last is shown
_KIND_OF: Final[dict[str, str]] = {
    Operation.VERIFY: _GOOD, Operation.TRUST: _GOOD, Operation.RESTORE: _GOOD, Operation.REINFORCE: _GOOD,
    Operation.DISPUTE: _BAD, Operation.RETRACT: _BAD, Operation.FORGET: _BAD,
    FeedbackVerdict.USED: _GOOD, FeedbackVerdict.WRONG: _BAD,
}  # fmt: skip


@dataclass(frozen=True)
class _Mark:
    """A mark on the line: its place in percent of the width, its kind, and what happened there, a line each."""

    x: str
    kind: str
    title: str


@dataclass(frozen=True)
class _Story:
    """The picture: the curve as a path, and the marks; `start` is the moment at its left end, the right one is now."""

    start: datetime
    path: str
    marks: tuple[_Mark, ...]
    width: int = _WIDTH
    height: int = _HEIGHT


def draw_story(found: Inspection, history: list[HistoryEntry], questions: list[QuestionThatFound]) -> _Story:
    """The story of an inspected memory."""
    points, events = found.curve.points, [*_events(found, history, questions)]
    start = min([points[0][0], *(at for at, _, _ in events)])
    span = max(found.curve.now - start, timedelta(minutes=1))
    near: dict[tuple[bool, int], list[tuple[datetime, str, str]]] = {}
    for event in sorted(events):
        place = 100 * ((event[0] - start) / span)
        near.setdefault((event[1] == _RECALL, round(place / _NEAR)), []).append(event)
    places = [(_WIDTH * ((at - start) / span), _HEIGHT * (1 - value)) for at, value in points]
    return _Story(
        start,
        "M" + "L".join(f"{x:.0f} {y:.1f}" for x, y in places),
        tuple(
            _Mark(f"{min(place * _NEAR, 100):.1f}%", max((kind for _, kind, _ in told), key=_KINDS.index),
                  "\n".join(f"{local_moment(at):%Y-%m-%d %H:%M} {line}" for at, _, line in told[:_MAX_LINES]))
            for (_, place), told in near.items()
        ),
    )  # fmt: skip


def _events(
    found: Inspection, history: list[HistoryEntry], questions: list[QuestionThatFound]
) -> Iterator[tuple[datetime, str, str]]:
    """What happened: when, its kind, and a line about it."""
    by = gettext("{what}: {who}")
    for row in history:
        is_withdrawn = any(each.name == "trust" and each.after in WITHDRAWN_TRUSTS for each in row.changes)
        kind = _BAD if is_withdrawn else _KIND_OF.get(row.operation, _PLAIN)
        yield row.at, kind, by.format(what=in_words(row.operation), who=row.actor)
    for said in found.feedback.newest:
        yield said.at, _KIND_OF[said.verdict], by.format(what=in_words(said.verdict), who=said.actor)
    for asked in questions:
        for at in asked.moments:
            yield at, _RECALL, shorten(asked.question, 100)
