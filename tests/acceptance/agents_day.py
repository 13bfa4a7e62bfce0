"""The store of a team's agent and a day's questions to it, from the lists in data/day, which were written without the code."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from unittest.mock import patch

from access.actor import Actor
from memories.draft import Draft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.store import store

DATA = Path(__file__).parent / "data" / "day"
GROUP = "orchard"
TODAY = datetime(
    2026, 9, 18, 9, 0, tzinfo=UTC
)  # of the questions that name no moment: the day after the last memory


@dataclass(frozen=True)
class DayQuestion:
    """A question, the name of the memory that must come first (None: nothing may come), and when it is asked."""

    id: str
    text: str
    first: str | None
    why: str
    now: datetime = TODAY
    relation: bool = False


def read_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def read_questions() -> list[DayQuestion]:
    return [
        DayQuestion(**line | {"now": moment(line["now"]) if "now" in line else TODAY})
        for line in read_lines("questions.jsonl")
    ]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@contextmanager
def clock_at(now: datetime) -> Iterator[None]:
    """Loci's clock stopped at a moment, for the columns whose default is the present as well."""

    class StoppedClock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return now.astimezone(tz)

    with patch("django.utils.timezone.datetime", StoppedClock):
        yield


def fill(actor: Actor) -> dict[str, str]:
    """Store the lists as a team's agents would have, each memory on its day, with the relations that it proves.

    Returns the ids of the memories by their names in the lists.
    """
    relations = read_lines("relations.jsonl")
    lines = read_lines("corpus.jsonl")
    replaced = {line["superseded_by"]: line["id"] for line in lines if "superseded_by" in line}
    ids: dict[str, str] = {}
    for line in lines:
        name, day = line["id"], moment(line["timestamp"])
        draft = Draft(
            line["text"],
            type=line["type"],
            group=GROUP,
            tags=tuple(line["tags"]),
            thread=line.get("thread", ""),
            supersedes=ids[replaced[name]] if name in replaced else None,
            valid_from=day,
        )
        with clock_at(day):
            stored = store(actor, draft)
            assert stored.outcome == "created", (name, stored)
            assert stored.memory is not None
            ids[name] = str(stored.memory.id)
            for each in (each for each in relations if each["evidence"] == name):
                relate(actor, each, ids[name])
    return ids


def relate(actor: Actor, line: dict[str, Any], evidence: str) -> None:
    draft = RelationDraft(
        line["subject"], line["predicate"], line["object"], group=GROUP, evidence=(evidence,)
    )
    assert store_relation(actor, draft).outcome == "created"
