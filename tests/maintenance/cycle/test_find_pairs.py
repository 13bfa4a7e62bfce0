"""Pairs that the write path did not see are compared, and links are proposed once."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from access.models import Group
from access.tokens import operator
from guard.judge import JudgeUse
from maintenance.cycle.find_pairs import FindPairs
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.undo import undo_run
from memories.draft import Draft
from memories.models import Link, LinkStatus, Memory, Piece
from memories.store.bulk import store_many
from tests.judges import publish_judge, with_judge
from tests.maintenance.events import NOW, drive, happen, turn_of
from tests.maintenance.state import whole_state

pytestmark = [pytest.mark.django_db, pytest.mark.model]
CONTRARY = ("The API server listens on port 8080", "The API server listens on port 9090")
ALIKE = ("Deploys happen every Friday afternoon", "Every Friday afternoon there is a deploy")


def imported(texts: tuple[str, ...], *, group: str = "ledger", scope: str = "group") -> list[Memory]:
    """Store facts in bulk, without looking for neighbours."""
    drafts = [Draft(text, group=group, scope=scope) for text in texts]
    ids = [id_ for id_ in store_many(operator(), drafts).ids if id_ is not None]
    assert not Link.objects.filter(source__id__in=ids).exists()
    rows = {row.id: row for row in Memory.objects.filter(id__in=ids)}
    return [rows[id_] for id_ in ids]


def found(group: Group, **more: Any) -> dict[str, int]:
    return dict(drive(FindPairs(), turn_of(group, **more))[0])


def test_facts_that_contradict_each_other_become_a_conflict(ledger: Group) -> None:
    old, new = imported(CONTRARY)
    counts, mark, run = drive(FindPairs(), turn_of(ledger))
    assert counts == {"conflicts_found": 1}
    assert mark == new.key
    link = Link.objects.get()
    assert {link.source_id, link.target_id} == {old.key, new.key}
    assert (link.kind, link.status, link.run, link.created_at) == ("conflict", "open", run.id, NOW)
    assert {link.evidence["old"], link.evidence["new"]} == {"8080", "9090"}


UNSEEN = (
    "The staging server sleeps at night",
    "The staging server is up around the clock",
)  # no rule compares these


def judge_conflicts(settings: Settings, folder: Path, weights: dict[str, list[float]]) -> None:
    publish_judge(folder, weights, id2label={"0": "entailment", "1": "neutral", "2": "contradiction"})
    settings.LOCI = with_judge(settings.LOCI, JudgeUse.CONFLICTS, folder)


def test_a_judge_finds_what_no_rule_sees(ledger: Group, settings: Settings, tmp_path: Path) -> None:
    old, new = imported(UNSEEN)
    assert found(ledger) == {}
    judge_conflicts(settings, tmp_path, {"sleeps": [0.0, 0.0, 9.0], "clock": [0.0, 0.0, 9.0]})
    assert found(ledger) == {"conflicts_found": 1}
    link = Link.objects.get()
    assert (link.kind, link.status) == ("conflict", "open")
    assert link.evidence == {"conflict": "judged", "old": old.content, "new": new.content}
    assert link.reason.startswith("contradicts: judged, “")
    assert found(ledger) == {}  # a second pass changes nothing


def test_a_judge_takes_no_conflict_away(ledger: Group, settings: Settings, tmp_path: Path) -> None:
    imported(CONTRARY)
    judge_conflicts(settings, tmp_path, {"8080": [9.0, 0.0, 0.0], "9090": [9.0, 0.0, 0.0]})
    assert found(ledger) == {"conflicts_found": 1}
    assert Link.objects.get().evidence["conflict"] == "value"


def test_without_a_judge_that_works_the_rules_decide(
    ledger: Group, settings: Settings, tmp_path: Path
) -> None:
    imported((*CONTRARY, *UNSEEN))
    judge_conflicts(settings, tmp_path, {"clock": [9.0, 9.0]})  # two logits for three labels
    assert found(ledger) == {"conflicts_found": 1}


def test_facts_that_may_be_the_same_become_a_possible_duplicate(ledger: Group) -> None:
    imported(ALIKE)
    assert found(ledger) == {"duplicates_found": 1}
    assert Link.objects.get().kind == "duplicate"


def test_unrelated_facts_are_left_alone(ledger: Group) -> None:
    imported(("Anna keeps bees", "The printer is on floor 3", "Lisbon lies on the Tagus"))
    assert found(ledger) == {}


def test_a_second_pass_changes_nothing(ledger: Group) -> None:
    imported(CONTRARY)
    _, mark, _ = drive(FindPairs(), turn_of(ledger))
    state = whole_state()
    assert FindPairs().next_batch(turn_of(ledger, mark=mark), None) is None
    assert found(ledger) == {}
    assert whole_state() == state


def test_a_dismissed_pair_is_not_found_again(ledger: Group) -> None:
    imported(CONTRARY)
    found(ledger)
    Link.objects.update(status=LinkStatus.DISMISSED)
    assert found(ledger) == {}
    assert Link.objects.get().status == LinkStatus.DISMISSED


def test_only_new_memories_are_compared(ledger: Group) -> None:
    old = imported(CONTRARY)[-1]
    assert found(ledger, mark=old.key) == {}
    imported(("The API server listens on port 7070",))
    assert found(ledger, mark=old.key) == {"conflicts_found": 2}


def test_groups_are_compared_separately(ledger: Group, garden: Group) -> None:
    imported(CONTRARY[:1])
    imported(CONTRARY[1:], group="garden")
    assert found(ledger) == found(garden) == {}


def test_similar_events_are_not_linked(ledger: Group) -> None:
    happen([*ALIKE, *CONTRARY])
    assert found(ledger) == {}


def test_memories_without_vectors_are_compared_later(ledger: Group) -> None:
    old, _ = imported(CONTRARY)
    vector = Piece.objects.get(memory=old).embedding
    Piece.objects.filter(memory=old).update(embedding=None)
    counts, mark, _ = drive(FindPairs(), turn_of(ledger))
    assert (counts, mark) == ({}, None)
    Piece.objects.filter(memory=old).update(embedding=vector)
    assert found(ledger, mark=mark) == {"conflicts_found": 1}


def test_a_link_created_meanwhile_is_not_duplicated(ledger: Group) -> None:
    imported(CONTRARY)
    batch = FindPairs().next_batch(turn_of(ledger), None)
    assert batch is not None
    _, _, run = drive(FindPairs(), turn_of(ledger))
    assert dict(batch.write(Recorder(operator(), run, "findings"))) == {}
    one = Link.objects.get()
    Link.objects.filter(pk=one.pk).update(source=one.target, target=one.source)
    assert dict(batch.write(Recorder(operator(), run, "findings"))) == {}
    assert Link.objects.count() == 1


def test_a_memory_retired_meanwhile_is_not_linked(ledger: Group) -> None:
    old, _ = imported(CONTRARY)
    batch = FindPairs().next_batch(turn_of(ledger), None)
    assert batch is not None
    Memory.objects.filter(pk=old.pk).update(state="forgotten")
    _, _, run = drive(FindPairs(), turn_of(ledger))
    assert dict(batch.write(Recorder(operator(), run, "findings"))) == {}
    assert not Link.objects.exists()


def test_undoing_the_run_removes_the_links(ledger: Group) -> None:
    imported(CONTRARY)
    state = whole_state()
    _, _, run = drive(FindPairs(), turn_of(ledger))
    assert undo_run(operator(), run.id).deleted == 1
    assert whole_state() == state


def test_a_global_memory_of_another_group_is_compared_with_what_is_verified_here(
    ledger: Group, garden: Group
) -> None:
    [old] = imported(CONTRARY[:1])
    Memory.objects.filter(pk=old.pk).update(trust="verified")
    _, mark, _ = drive(FindPairs(), turn_of(ledger))
    [new] = imported(CONTRARY[1:], group="garden", scope="global")
    assert found(garden) == {}  # nothing of the ledger is compared, or linked, there
    assert found(ledger, mark=mark) == {"conflicts_found": 1}
    link = Link.objects.get()
    assert (link.source_id, link.target_id, link.evidence["old"]) == (old.key, new.key, "8080")


def test_a_global_memory_that_waits_for_its_vector_is_not_skipped(ledger: Group, garden: Group) -> None:
    [old] = imported(CONTRARY[:1])
    Memory.objects.filter(pk=old.pk).update(trust="verified")
    [new] = imported(CONTRARY[1:], group="garden", scope="global")
    vector = Piece.objects.get(memory=new).embedding
    Piece.objects.filter(memory=new).update(embedding=None)
    imported(ALIKE[:1])
    counts, mark, _ = drive(FindPairs(), turn_of(ledger))
    assert (counts, mark) == ({}, old.key)
    Piece.objects.filter(memory=new).update(embedding=vector)
    assert found(ledger, mark=mark) == {"conflicts_found": 1}
