"""Deletion: a destroyed text is absent from rebuilt indexes and from every place that shared it."""

import io
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection

from access.models import AuditPayload, Group, RowChange
from access.tokens import operator
from maintenance.backups import make_backup
from maintenance.cycle import RunPlan, run_cycle
from maintenance.doctor import repair
from maintenance.embeddings.reembed import reembed
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.verbs import purge
from memories.models import Checkpoint, Link, Memory, RecallLog
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from memories.search.base import search_index
from memories.sessions.checkpoints import save_checkpoint
from relations.models import Relation, RelationEvidence
from sources.exporting import export
from sources.importing.formats.exports import restore_export
from tests.acceptance.house import House
from tests.acceptance.reading import EVERYWHERE, Wanted, tellers
from tests.acceptance.storage import backup_bytes, begin_clean, file_bytes, holders
from tests.maintenance.events import MONDAY, NOW, TOMATOES, happen
from tests.memories.builders import kept

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.model,
    pytest.mark.usefixtures("no_backups"),
]

QUESTION = "Who keeps the north lighthouse?"
SECRET = "The north lighthouse is kept by Quokkazebu of Xanthippolis."
BESIDE = "The north lighthouse has a green lamp."
TRACES = [b"quokkazebu", b"xanthippoli"]  # stemmed, in lower case


def wanted(memory: Memory, group: str = "ledger") -> Wanted:
    return Wanted(QUESTION, "north lighthouse", str(memory.id), group)


def test_absent_after_a_reindex_and_a_restart(house: House) -> None:
    """A purged text is in no rebuilt index, and no restarted process finds it."""
    memory = kept(house.person, SECRET, group="ledger", scope="group")
    kept(house.person, BESIDE, group="ledger", scope="group")
    assert tellers(EVERYWHERE, house, wanted(memory), "Quokkazebu") == [*EVERYWHERE]
    purge(house.person, memory.id)
    search_index().rebuild()
    repair(operator())
    reembed(operator())
    connection.close()  # and what a connection kept in memory is gone with it
    assert tellers(EVERYWHERE, house, wanted(memory), "Quokkazebu") == []
    assert recall(house.agent, RecallRequest(QUESTION, group="ledger")).items[0].text == BESIDE


def spread(house: House) -> Memory:
    """Store a secret and let every place have its copy; give the memory."""
    secret = kept(house.person, SECRET, group="ledger", type="episodic", thread="talk", valid_from=MONDAY)
    kept(house.person, BESIDE, group="ledger", type="episodic", thread="talk", valid_from=MONDAY)
    pair = store_relation(
        house.person, RelationDraft("Lighthouse", "has", "Keeper", group="ledger", evidence=(str(secret.id),))
    )
    assert RelationEvidence.objects.filter(relation=pair.relation, memory=secret).exists()
    save_checkpoint(house.person, group="ledger", thread="talk", state={"next": [f"Check: {SECRET}"]})
    recall(house.agent, RecallRequest(f"Is it true that {SECRET}", group="ledger"))
    COUNTER.flush()
    events = happen(
        [*TOMATOES[:4], SECRET.replace("lighthouse", "tomato bed")], group="ledger", thread="week"
    )
    assert len(events) == 5
    run_cycle(operator(), RunPlan(now=NOW, max_share=1))
    make_backup(operator())
    return secret


COPIES = {
    "memories": lambda: Memory.objects.filter(content__contains=SECRET),
    "neighbours' contexts": lambda: Memory.objects.filter(context__contains="Quokkazebu", content=BESIDE),
    "recall log": lambda: RecallLog.objects.filter(query__contains=SECRET),
    "checkpoints": lambda: Checkpoint.objects.filter(state__icontains=SECRET),
    "audit payloads": lambda: AuditPayload.objects.filter(payload__icontains=SECRET),
    "links' evidence": lambda: Link.objects.filter(evidence__icontains=SECRET),
    "row changes": lambda: RowChange.objects.filter(vals__icontains=SECRET),
    "relations": lambda: Relation.objects.filter(metadata__icontains=SECRET),
}


@pytest.mark.sqlite(reason="bytes of the database's file and its write-ahead log")
def test_absent_from_shared_copies(house: House, garden: Group, bob: User, tmp_path: Path) -> None:
    """The log of recalls, checkpoints, neighbours, relations, backups and other groups' readers lose it as well."""
    begin_clean()
    secret = spread(house)
    shared = kept(house.person, SECRET, group="garden", type="procedural", scope="global")
    here = {name for name, rows in COPIES.items() if rows().exists()}
    assert {"memories", "neighbours' contexts", "recall log", "checkpoints", "audit payloads"} <= here
    outside = House.of(bob)  # of `ledger`: the garden's global memory is shared with him
    assert tellers({"recall": EVERYWHERE["recall"]}, outside, wanted(shared), "Quokkazebu") == ["recall"]
    before = backup_bytes(tmp_path / "before")
    assert holders(before, TRACES) == [*before] != []
    for memory in Memory.objects.filter(content__contains="Quokkazebu").order_by("key"):
        if Memory.objects.filter(pk=memory.pk).exists():  # a summary goes with the first of its sources
            purge(house.person, memory.id)
    assert {name for name, rows in COPIES.items() if rows().exists()} == set()
    for reader in (house, outside):
        for memory in (secret, shared):
            assert tellers(EVERYWHERE, reader, wanted(memory), "Quokkazebu") == []
    assert Relation.objects.filter(predicate="has").exists(), "what it only proved stays"
    assert Checkpoint.objects.get().state == {"next": ["Check: [purged]"]}
    assert holders(backup_bytes(tmp_path / "after"), TRACES) == []
    assert holders(file_bytes(), TRACES) == []


def test_an_export_from_before_brings_nothing_back(house: House, tmp_path: Path) -> None:
    """An export is a file of its owner's that Loci cannot reach; taken in again, it does not undo the purge."""
    memory = kept(house.person, SECRET, group="ledger", scope="group")
    kept(house.person, BESIDE, group="ledger", scope="group")
    out = io.StringIO()
    export(operator(), out)
    file = tmp_path / "before.jsonl"
    file.write_text(out.getvalue(), encoding="utf-8")
    assert "Quokkazebu" in out.getvalue()
    purge(house.person, memory.id)
    report = restore_export(operator(), file)
    assert [fault.why for fault in report.faults if "purged" in fault.why]
    assert tellers(EVERYWHERE, house, wanted(memory), "Quokkazebu") == []
    assert Memory.objects.filter(content=BESIDE).count() == 1
