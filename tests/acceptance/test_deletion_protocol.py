"""The deletion protocol: thirteen steps from writing a memory to its last byte, for each way to delete one.

Forgetting hides and can be undone until retention destroys it; retracting keeps the text as history and bars it; purging
destroys it at once. What each owes at each step stands in the steps themselves.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection

from access.audit.verify import is_log_whole
from access.models import AuditEntry
from access.tokens import operator
from maintenance.backups import make_backup
from maintenance.backups.purge import purge_backups
from maintenance.cycle import RunPlan, run_cycle
from maintenance.embeddings.backfill import embed_owed
from maintenance.retention import enforce_retention
from memories.lifecycle import verbs
from memories.models import Link, Memory, Piece
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from memories.search.base import search_index
from sources.importing.formats.texts import TEXTS
from sources.importing.importer import LineRules
from tests.acceptance.conftest import Clock
from tests.acceptance.house import House
from tests.acceptance.reading import EVERYWHERE, HANDED_OUT, ON_THE_MACHINE, Wanted, tellers
from tests.acceptance.storage import backup_bytes, begin_clean, file_bytes, holders, log_bytes, shadow_bytes
from tests.maintenance.events import TOMATOES
from tests.memories.indexes import indexed_vectors
from tests.sizes import IS_WHOLE

pytestmark = [
    pytest.mark.sqlite(reason="bytes of the database's file and its write-ahead log"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.model,
    pytest.mark.usefixtures("no_backups"),
]

NOON, DAY = datetime(2026, 5, 1, 12, 0, tzinfo=UTC), timedelta(days=1)
MARK = "Quokkazebu"
TRACES = [b"quokkazebu", b"xanthippoli"]  # as the keyword index stems them, in lower case
FACT = "The north lighthouse is kept by Quokkazebu of Xanthippolis."
EVENT = "Quokkazebu of Xanthippolis tied up the tomato plants in the raised bed"
CASES: dict[str, tuple[str, str, str]] = {  # text, question, words for searching
    "a fact": (FACT, "Who keeps the north lighthouse?", "north lighthouse"),
    "an event with a summary": (EVENT, "Who tied up the tomato plants?", "tied up the tomato"),
}
Verb = Callable[..., object]


@dataclass
class Protocol:
    """One run of the thirteen steps."""

    house: House
    clock: Clock
    folder: Path
    verb: Verb
    case: str
    vectors: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.text, self.question, self.words = CASES[self.case]
        self.now = NOON

    @property
    def destroys(self) -> bool:
        """True where the text itself is to be gone, at once."""
        return self.verb is verbs.purge

    def wanted(self) -> Wanted:
        return Wanted(self.question, self.words, str(self.id))

    def tell(self) -> list[str]:
        """The readers that return the text although they must not."""
        readers = EVERYWHERE if self.destroys else HANDED_OUT | ON_THE_MACHINE
        return tellers(readers, self.house, self.wanted(), MARK)

    def feed(self) -> None:
        """Read the source in, which holds the text among others."""
        texts = [
            self.text,
            *(TOMATOES[:4] if self.text == EVENT else ["The north lighthouse has a green lamp."]),
        ]
        source = self.folder / "handbook.jsonl"
        lines = [
            {"id": f"{at}", "text": text}
            | (
                {"session": "garden", "timestamp": f"2026-03-0{at + 1}T10:00:00Z"}
                if self.text == EVENT
                else {}
            )
            for at, text in enumerate(texts)
        ]
        source.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        TEXTS.run(self.house.person, source, LineRules(source="handbook", group="ledger"))

    def run_jobs(self, *, days: int) -> None:
        """Run every scheduled job some days later, including the purge of backups."""
        self.now += days * DAY
        self.clock(self.now)
        run_cycle(operator(), RunPlan(now=self.now, max_share=1))
        embed_owed(operator())
        make_backup(operator())
        purge_backups(operator())
        enforce_retention(operator(), now=self.now)
        COUNTER.flush()

    def write(self) -> None:  # 1
        begin_clean()
        self.feed()
        memory = Memory.objects.get(content=self.text)
        self.id = memory.id
        pieces = Piece.objects.filter(memory=memory)
        self.vectors = [*(bytes(piece.embedding) for piece in pieces), *indexed_vectors(pieces)]
        recall(self.house.agent, RecallRequest(f"Is it so: {self.text}", group="ledger"))
        COUNTER.flush()
        run_cycle(operator(), RunPlan(now=self.now, max_share=1))
        make_backup(operator())

    def is_present(self) -> None:  # 2
        assert tellers(EVERYWHERE, self.house, self.wanted(), MARK) == [*EVERYWHERE]
        assert Memory.objects.filter(source="loci:compact").count() == (self.text == EVENT)
        for places in (file_bytes(), shadow_bytes(), backup_bytes(self.folder / "before")):
            assert holders(places, TRACES) != []
            assert holders(places, self.vectors) != []

    def delete(self) -> None:  # 3
        self.done = self.verb(self.house.person, self.id, reason="asked for")

    def is_absent(self) -> None:  # 4, 6, 8
        assert self.tell() == []

    def feed_again(self) -> None:  # 5
        self.feed()
        assert not Memory.objects.filter(content=self.text, state="live").exists()

    def derived_artefacts(self) -> None:  # 9
        kept = Memory.objects.filter(content__contains=MARK, state="live")
        assert [row.content for row in kept] == []
        if self.text == EVENT:
            others = Memory.objects.filter(content__in=TOMATOES[:4])
            assert {row.state for row in others} == {"live"}, "what the summary also stood for counts again"
        if self.destroys:
            assert not Link.objects.filter(reason__contains=MARK).exists()
            assert not Memory.objects.filter(context__contains=MARK).exists()

    def the_audit_tells_it(self) -> None:  # 10
        log = AuditEntry.objects.filter(memory_id=self.id).order_by("seq").select_related("payload_row")
        told = log.get(operation=self.verb.__name__)
        assert told.payload_row.payload["reason"] == "asked for"
        assert is_log_whole()
        said = [row.payload_row.payload for row in log if hasattr(row, "payload_row")]
        if self.destroys:
            assert MARK not in json.dumps(said)

    def shared_copies(self) -> None:  # 11
        backups = backup_bytes(self.folder / "after")
        assert backups
        if self.destroys:
            assert holders(backups, [*TRACES, *self.vectors]) == []

    def after_a_restart(self) -> None:  # 12
        search_index().rebuild()
        connection.close()
        self.is_absent()
        self.feed_again()
        self.is_absent()

    def bytes_on_disk(self) -> None:  # 13
        places = {**file_bytes(), **shadow_bytes(), **log_bytes()}
        assert any(name.startswith("memories_fts_") for name in places)
        assert any(name.startswith("memories_vec_vector_chunks") for name in places)
        if self.destroys:
            assert holders(places, TRACES) == []
            assert holders(places, self.vectors) == []
        elif self.verb is verbs.retract:  # history: the text stays for whoever asks what was believed
            assert holders(places, TRACES) != []
            assert MARK in self.house.tool_text("memory_inspect", id=str(self.id))


STEPS = ("write", "is_present", "delete", "is_absent", "feed_again", "is_absent", "run_jobs", "is_absent",
         "derived_artefacts", "the_audit_tells_it", "shared_copies", "after_a_restart", "bytes_on_disk")  # fmt: skip


RUNS: list[tuple[Verb, str]] = [
    (verbs.purge, "a fact"),
    (verbs.purge, "an event with a summary"),
    (verbs.retract, "an event with a summary"),
    (verbs.forget, "a fact"),
]
REST: list[tuple[Verb, str]] = [(verbs.retract, "a fact"), (verbs.forget, "an event with a summary")]


@pytest.mark.parametrize(
    ("verb", "case"),
    [*RUNS, *(REST if IS_WHOLE else ())],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_thirteen_steps(house: House, clock: Clock, tmp_path: Path, verb: Verb, case: str) -> None:
    """Written, found, deleted, and found no more: by no reader, after no job, from no source, in no file."""
    clock(NOON)
    protocol = Protocol(house, clock, tmp_path, verb, case)
    for step in STEPS:
        work = getattr(protocol, step)
        work(days=8) if step == "run_jobs" else work()
    assert len(STEPS) == 13


def test_what_was_forgotten_is_destroyed_once_its_time_is_over(
    house: House, clock: Clock, tmp_path: Path
) -> None:
    """After its retention a forgotten text is gone from the files as a purged one is; old backups rotate out."""
    clock(NOON)
    protocol = Protocol(house, clock, tmp_path, verbs.forget, "a fact")
    for step in ("write", "is_present", "delete", "is_absent"):
        getattr(protocol, step)()
    protocol.run_jobs(days=29)
    assert holders(file_bytes(), TRACES) != [], "it can be restored until then"
    protocol.run_jobs(days=2)
    assert tellers(EVERYWHERE, house, protocol.wanted(), MARK) == []
    places = {**file_bytes(), **shadow_bytes(), **log_bytes()}
    assert holders(places, [*TRACES, *protocol.vectors]) == []
    made = make_backup(operator())
    assert (
        holders({n: b for n, b in backup_bytes(tmp_path / "new").items() if n == made.path.name}, TRACES)
        == []
    )
