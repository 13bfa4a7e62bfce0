"""Questions about times, about oneself and for all of a kind, in many words, on two stores; about a third of each list was written after the rules."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.groups import create_group
from access.tokens import actor_for_user
from memories.draft import Draft
from memories.recall import RecallRequest, recall
from memories.store import store
from tests.acceptance.conftest import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.model, pytest.mark.usefixtures("encoder")]

DATA = Path(__file__).parent / "data" / "questions"
NOW = datetime(2026, 11, 24, 10, tzinfo=UTC)  # a Tuesday


def moment_of(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


@pytest.mark.parametrize(("name", "most"), [("times", 5), ("oneself", 4)])
def test_a_question_in_any_words_gets_all_that_answers(name: str, most: int, clock: Clock) -> None:
    """At most so many of the questions miss something, or bring what the list says does not belong."""
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    clock(NOW)
    ann = User.objects.create_superuser(
        "ann", password="a-long-password", first_name="Ann", last_name="Meier"
    )
    actor = actor_for_user(ann, via="rest")
    create_group(actor, "office")
    texts, ids = dict[str, str](), dict[str, Any]()
    for row in sorted(
        (row for row in rows if row["kind"] != "question"), key=lambda row: row.get("stored", "9")
    ):
        clock(moment_of(row["stored"]) if "stored" in row else NOW)
        draft = Draft(row["text"], group="office")
        if "day" in row:
            type_ = "episodic" if row["kind"] == "event" else "semantic"
            draft = Draft(
                row["text"], group="office", type=type_, valid_from=moment_of(row["day"]),
                supersedes=ids.get(row.get("supersedes", "")),
            )  # fmt: skip
        stored = store(actor, draft).memory
        assert stored is not None
        texts[row["text"]], ids[row["id"]] = row["id"], stored.id
    clock(NOW)

    def every(names: str) -> set[str]:
        kinds = {name[0] for name in names.split() if name.endswith("*")}
        return {*names.replace("*", "").split()} - kinds | {each for each in ids if each[0] in kinds}

    missed = []
    for row in (row for row in rows if row["kind"] == "question"):
        answer = recall(actor, RecallRequest(row["text"], group="office", is_trial=True))
        found = [texts[item.memory.content] for item in answer.items]
        told = {*found, *(texts[item.coming.content] for item in answer.items if item.coming)}
        wanted = every(row["wants"])
        is_first = row.get("first", found[:1]) in (found[:1], *found[:1])
        if (
            len(wanted & told) < row.get("least", len(wanted))
            or every(row.get("but", "")) & {*found}
            or not is_first
        ):
            missed.append((row["text"], found))
    assert len(missed) <= most, missed
