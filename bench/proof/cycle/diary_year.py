"""One diary in a home of its own: stored as it happened, aged by weekly cycles, asked. Each in a process of its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import time_machine

from access.tokens import operator
from maintenance.cycle import run_cycle
from maintenance.models import RunStatus
from memories.browse.listing import ListFilter, list_memories
from memories.draft import Draft
from memories.embedding import get_encoder
from memories.language.cleaning import fold
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.recall.answer import Item, RecallResult
from memories.store.bulk import store_many
from memories.types import State

GROUP: Final = "diary"
PAGE: Final = 100


@dataclass(frozen=True)
class _Entry:
    id: str
    at: datetime
    text: str
    thread: str = ""


@dataclass(frozen=True)
class _Question:
    """A question with the entry that answers it, and the words that answer it."""

    text: str
    entry: str
    answer: str


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _read_entries(folder: Path, limit: int | None) -> list[_Entry]:
    rows = _lines(folder / "entries.jsonl")
    found = [_Entry(row["id"], _moment(row["at"]), row["text"], str(row.get("thread", ""))) for row in rows]
    return sorted(found, key=lambda entry: entry.at)[:limit]


def _read_questions(folder: Path, entries: Sequence[_Entry]) -> list[_Question]:
    known = {entry.id for entry in entries}
    rows = _lines(folder / "questions.jsonl")
    found = [_Question(row["question"], row["entry"], row["answer"]) for row in rows]
    return [question for question in found if question.entry in known]


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def store_all(folder: str, limit: int | None) -> dict[str, Any]:
    """Store the entries as events, each day's on that day; `ref` in their metadata names them."""
    get_encoder(timeout_s=60)
    entries = _read_entries(Path(folder), limit)
    for day, own in groupby(entries, key=lambda entry: entry.at.date()):
        drafts = [
            Draft(
                entry.text, type="episodic", group=GROUP, valid_from=entry.at, thread=entry.thread,
                metadata={"ref": entry.id},
            )
            for entry in own
        ]  # fmt: skip
        with time_machine.travel(datetime(day.year, day.month, day.day, 23, tzinfo=UTC)):
            refused = store_many(operator(), drafts).refused
            if refused:
                return {"faults": [f"{day}: {refusal.why}" for refusal in refused]}
    return {"faults": []}


def live(folder: str, since: int, until: int, day: int, limit: int | None) -> dict[str, Any]:
    """Run the cycles of the weeks, then ask on this day after the last entry."""
    get_encoder(timeout_s=60)
    entries = _read_entries(Path(folder), limit)
    faults = list[str]()
    for week in range(since + 1, until + 1):
        with time_machine.travel(entries[-1].at + timedelta(weeks=week)):
            run = run_cycle(operator())
            if run.status != RunStatus.DONE:
                faults.append(f"the cycle of week {week} ended {run.status}: {run.error}")
    with time_machine.travel(entries[-1].at + timedelta(days=day, hours=1)):
        rows = Memory.objects.filter(group__slug=GROUP)
        collecting = [_collect(row) for row in _lines(Path(folder) / "collecting.jsonl")]
        return {
            "rows": rows.count(),
            "live": rows.filter(state=State.LIVE, summary=None).count(),
            "answered": {
                f"question {number}": _is_answered(question)
                for number, question in enumerate(_read_questions(Path(folder), entries), 1)
            },
            "tokens": sum(tokens for tokens, _ in collecting),
            "collected": sum(found for _, found in collecting),
            "found": _found_by_words(),
            "faults": [*faults, *_unlisted()],
        }


def _ask(text: str) -> RecallResult:
    return recall(operator(), RecallRequest(text, group=GROUP, is_trial=True))


def _is_answered(question: _Question) -> bool:
    """Whether the answer has the words that answer, in what it shows of the entry."""
    wanted = fold(question.answer)
    return any(
        question.entry in _entries_of(item) and wanted in fold(item.text)
        for item in _ask(question.text).items
    )


def _collect(row: dict[str, Any]) -> tuple[int, int]:
    """The tokens of an answer to a question that collects, and how many of the wanted entries it shows."""
    answer = _ask(f"List everything: {row['question']}")
    return answer.tokens, len(_shown(answer) & {*row["entries"]})


def _found_by_words() -> list[str]:
    """The entries that an answer to their own words shows, asked on their day: "yesterday" is another one later."""
    found = []
    for event in Memory.objects.filter(group__slug=GROUP, metadata__has_key="ref").order_by("key"):
        with time_machine.travel(event.moment + timedelta(hours=1)):
            if event.metadata["ref"] in _shown(_ask(event.content[:500])):
                found.append(event.metadata["ref"])
    return found


def _shown(answer: RecallResult) -> set[str]:
    return {entry for item in answer.items for entry in _entries_of(item)}


def _entries_of(item: Item) -> set[str]:
    """The entries that an item shows: itself, what is equal to it, or the events whose parts it tells."""
    return {memory.metadata.get("ref", "") for memory in (item.memory, *item.also_in, *item.events)}


def _unlisted() -> list[str]:
    """Say which event is neither in the list nor in the list of its week."""
    events = Memory.objects.filter(group__slug=GROUP, metadata__has_key="ref", state=State.LIVE)
    listed = set[str]()
    for summary in [None, *events.exclude(summary=None).values_list("summary__id", flat=True).distinct()]:
        wanted, cursor = ListFilter(group=GROUP, summary=str(summary or "")), ""
        while True:
            page = list_memories(operator(), wanted, cursor=cursor, limit=PAGE)
            listed |= {row.metadata.get("ref", "") for row in page.rows}
            if not (cursor := page.next or ""):
                break
    return [f"{ref} is not listed" for event in events if (ref := event.metadata["ref"]) not in listed]
