"""Taking an export in: nothing overwritten, nothing forged, nothing purged comes back."""

import json
from collections.abc import Callable
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from access.audit.verify import is_log_whole, verify_log
from access.errors import InvalidInput, NotPermitted
from access.models import AuditEntry, AuditHead, AuditPayload, Group
from access.tokens import operator
from memories.draft import Draft
from memories.draft.registry import OLDER_VALUES
from memories.lifecycle.verbs import forget, purge
from memories.models import IndexState, Link, Memory, Piece, Tombstone
from memories.search.base import search_index
from memories.store import store
from memories.store.threads import refresh_threads
from sources.exporting import export
from sources.importing.formats import exports as restoring
from sources.importing.formats.exports import restore_export
from sources.importing.lines import StrictStop
from sources.importing.reports import RestoreReport
from storage.ids import new_id
from tests.people import agent, person, the_group, the_owner
from tests.sources.rich import fill

pytestmark = pytest.mark.django_db
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def exported(shared_rows: None) -> Lines:
    """An export of two facts, one of them in two versions, and of a turn, from another store than this will be."""
    the_group("ledger")
    me = person(the_owner())
    old = store(me, Draft("The port is 8081.", group="ledger", scope="group")).memory
    assert old is not None
    store(me, Draft("The port is 9000.", group="ledger", scope="group", supersedes=old.id))
    store(me, Draft("Roses need lime.", group="ledger", scope="group"))
    store(me, Draft("Hello.", group="ledger", type="episodic", thread="tea"))
    out = StringIO()
    export(operator(), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def lines(exported: Lines) -> Lines:
    """The export's lines, to be changed at will."""
    return deepcopy(exported)


def clear() -> None:
    """Make this store another, empty one."""
    Memory.objects.update(superseded_by=None, summary=None)
    for model in (AuditPayload, AuditEntry, AuditHead, Piece, Tombstone):
        model.objects.all().delete()
    Memory.objects.filter(root__isnull=False).delete()
    Memory.objects.all().delete()
    IndexState.objects.filter(name="instance").delete()
    Group.objects.get().threads.all().delete()
    Group.objects.all().delete()


@pytest.fixture
def emptied(lines: Lines) -> None:
    clear()


@pytest.fixture
def take(tmp_path: Path) -> Callable[..., RestoreReport]:
    def take(lines: Lines, **options: Any) -> RestoreReport:
        file = tmp_path / "in.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return restore_export(operator(), file, **options)

    return take


Take = Callable[..., RestoreReport]


def number(lines: Lines, kind: str, **row: Any) -> int:
    """Index of the line of a kind whose row has these values."""
    return next(
        at
        for at, line in enumerate(lines)
        if line["kind"] == kind and all(line["row"][name] == value for name, value in row.items())
    )


@pytest.mark.usefixtures("emptied")
def test_all_of_it_comes_in(lines: Lines, take: Take) -> None:
    report = take(lines)
    assert report.faults == ()
    assert report.added == {"group": 1, "thread": 1, "memory": 4, "log": lines[-1]["counts"]["log"]}
    old = Memory.objects.get(content="The port is 8081.")
    assert old.superseded_by == Memory.objects.get(content="The port is 9000.")
    assert is_log_whole()
    assert search_index().find_errors() == []


def test_a_row_that_is_here_with_other_content_is_told_and_left(lines: Lines, take: Take) -> None:
    at = number(lines, "memory", content="Roses need lime.")
    lines[at]["row"]["content"] = "Roses need salt."
    lines[at]["row"]["confidence"] = 0.1
    report = take(lines)
    [fault] = report.faults
    assert fault.line == at + 1
    assert "exists here with another content, confidence" in fault.why
    assert Memory.objects.filter(content="Roses need lime.").count() == 1


def test_counts_of_use_are_no_difference(lines: Lines, take: Take) -> None:
    Memory.objects.update(access_count=9)
    report = take(lines)
    assert (report.faults, report.added) == ((), {})


def test_a_memory_that_was_forgotten_here_meanwhile_stays_so(lines: Lines, take: Take) -> None:
    roses = Memory.objects.get(content="Roses need lime.")
    forget(operator(), roses.id)
    report = take(lines)
    assert ["state" in fault.why for fault in report.faults] == [True]
    assert Memory.objects.get(pk=roses.pk).state == "forgotten"


def test_what_was_purged_here_does_not_come_back(lines: Lines, take: Take) -> None:
    roses = Memory.objects.get(content="Roses need lime.")
    purge(operator(), roses.id)
    report = take(lines)
    assert [fault.why for fault in report.faults] == ["its text was purged here; a curator can lift that"]
    assert not Memory.objects.filter(content="Roses need lime.").exists()
    said = json.dumps(list(AuditPayload.objects.values_list("payload", flat=True)))
    assert "Roses" not in said


@pytest.mark.usefixtures("emptied")
def test_a_purged_text_does_not_come_back_in_another_stores_log(lines: Lines, take: Take) -> None:
    at = number(lines, "memory", content="Roses need lime.")
    take(lines[: at + 1])
    purge(operator(), Memory.objects.get(content="Roses need lime.").id)
    report = take(lines)
    assert report.purged_payloads == 1
    assert "Roses" not in json.dumps(list(AuditPayload.objects.values_list("payload", flat=True)))
    assert sum(chain.purged_payloads for chain in verify_log() if chain.origin) == 1
    assert is_log_whole()


@pytest.mark.usefixtures("emptied")
@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("type", "dream", "which is not one of its values"),
        ("state", "asleep", "which is not one of its values"),
        ("confidence", 7.0, "it conflicts with a stored row"),
        ("importance", "many", "'importance' is 'many'"),
        ("created_at", "2026-01-01T00:00:00", "'created_at' has no time zone"),
        ("created_at", None, "'created_at' is None"),
        ("content", "   ", "its content is empty"),
        ("content", "\ud800", "lone surrogate"),
        ("content", "a\x00b", "'content' contains a NUL character"),
        ("content", ["x"], "'content' is ['x']"),
        ("thread", {"a": 1}, "'thread'"),
        ("group", "elsewhere", "group 'elsewhere' is neither in the file nor in the store"),
        ("root", "0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f", "its root, is neither in the file nor in the store"),
        ("id", "7", "'id' is '7'"),
    ],
)
def test_a_bad_row_is_told_and_the_others_come_in(
    lines: Lines, take: Take, column: str, value: Any, why: str
) -> None:
    at = number(lines, "memory", content="Roses need lime.")
    lines[at]["row"][column] = value
    report = take(lines)
    [fault] = report.faults
    assert (fault.line, why in fault.why) == (at + 1, True), fault.why
    assert report.added["memory"] == 3
    assert search_index().find_errors() == []


@pytest.mark.usefixtures("emptied")
def test_a_row_without_a_column_is_told(lines: Lines, take: Take) -> None:
    del lines[number(lines, "memory", content="Roses need lime.")]["row"]["tags"]
    assert [fault.why for fault in take(lines).faults] == ["it has no 'tags'"]


@pytest.mark.usefixtures("emptied")
def test_a_field_that_an_older_export_lacks_has_its_value_of_that_time(
    lines: Lines, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OLDER_VALUES, "importance", 4)
    monkeypatch.setitem(OLDER_VALUES, "metadata", {})
    for line in lines:
        if line["kind"] == "memory":
            del line["row"]["importance"], line["row"]["metadata"]
    report = take(lines)
    assert (report.faults, report.added["memory"]) == ((), 4)
    assert set(Memory.objects.values_list("importance", flat=True)) == {4}
    again = take(lines)
    assert (again.faults, again.added, again.unchanged["memory"]) == ((), {}, 4)


@pytest.mark.usefixtures("emptied")
def test_lines_that_are_none_are_told(lines: Lines, take: Take) -> None:
    lines.insert(1, {"kind": "dream", "row": {}})
    lines.insert(2, {"kind": "memory"})
    assert [(fault.line, fault.why) for fault in take(lines).faults] == [
        (2, "the kind 'dream' is unknown"),
        (3, "it has no 'row'"),
    ]


@pytest.mark.usefixtures("emptied")
@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (lambda line: line["row"].update(actor="mallory"), "it does not follow the row before it"),
        (lambda line: line["said"]["payload"].update(x=1), "its payload was changed"),
        (lambda line: line["row"].update(seq=99), "is missing before it"),
        (lambda line: line["row"].pop("digest"), "it is not a row of a log"),
    ],
)
def test_a_forged_log_is_taken_up_to_the_forgery(
    lines: Lines, take: Take, forge: Callable[[dict[str, Any]], None], why: str
) -> None:
    at = number(lines, "log", seq=3)
    forge(lines[at])
    report = take(lines)
    assert (report.faults[0].line, why in report.faults[0].why) == (at + 1, True), report.faults[0]
    assert report.added["log"] == 3  # two rows of the group before it, and the chain of heads
    assert is_log_whole()
    assert report.added["memory"] == 4


@pytest.mark.usefixtures("emptied")
def test_a_later_export_goes_on_where_the_earlier_log_ended(lines: Lines, take: Take) -> None:
    half = number(lines, "log", seq=3)
    assert take([*lines[:half], lines[-1]]).added["log"] == 2
    report = take(lines)
    assert (report.faults, report.added) == ((), {"log": lines[-1]["counts"]["log"] - 2})
    assert is_log_whole()


@pytest.mark.usefixtures("emptied")
def test_a_file_that_was_cut_off_is_told(lines: Lines, take: Take) -> None:
    report = take(lines[:-1])
    assert [fault.why for fault in report.faults] == ["the file is incomplete: export it again"]


@pytest.mark.usefixtures("emptied")
def test_an_import_notes_the_foreign_head_in_our_own_log(lines: Lines, take: Take) -> None:
    report = take(lines)
    entry = AuditEntry.objects.get(origin="", operation="import")
    assert entry.payload_row.payload["heads"] == {report.origin: lines[0]["heads"]}
    assert is_log_whole()


@pytest.mark.usefixtures("emptied")
def test_a_strict_import_stops_at_the_first_fault(lines: Lines, take: Take) -> None:
    lines[number(lines, "thread")]["row"]["created_at"] = "soon"
    with pytest.raises(StrictStop, match="Line 3: 'created_at' is 'soon'"):
        take(lines, strict=True)
    assert Memory.objects.count() == 0


@pytest.mark.usefixtures("emptied")
def test_a_group_of_the_same_name_takes_the_memories_in(lines: Lines, take: Take) -> None:
    mine = Group.objects.create(slug="ledger", title="Mine")
    report = take(lines)
    assert (report.faults, report.added["memory"]) == ((), 4)
    assert set(Memory.objects.values_list("group", flat=True)) == {mine.key}
    assert Group.objects.get().title == "Mine"


@pytest.mark.usefixtures("emptied")
def test_a_text_that_is_live_here_is_told_and_kept_once(lines: Lines, take: Take) -> None:
    store(operator(), Draft("Roses need lime.", group="ledger", scope="group"))
    report = take(lines)
    [fault] = report.faults
    same = "the same text is live here, in the group 'ledger', with the same type and scope"
    assert fault.why == f"it conflicts with a stored row: {same}"
    assert lines[fault.line - 1]["row"]["content"] == "Roses need lime."
    assert Memory.objects.filter(content="Roses need lime.").count() == 1


def test_only_an_admin_of_the_whole_store_may(bob: User, tmp_path: Path) -> None:
    with pytest.raises(NotPermitted, match="admin of the whole store"):
        restore_export(agent(bob), tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ({"format": "other"}, "not an export of Loci"),
        ({"format": "loci-export", "origin": "x", "version": 3}, "version 3; this version of Loci reads 2"),
    ],
)
def test_another_format_or_version_is_refused(take: Take, header: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        take([header])


JUNK = [None, 7, -1, 10**30, 0.5, True, "x", "", "\u0000", ["x"], {"a": 1}, "9" * 400]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:12])
def test_junk_in_any_column_is_told_or_taken_never_a_crash(
    alice: User, ledger: Group, garden: Group, take: Take, junk: Any
) -> None:
    """Every column of every kind holds junk once, in a copy of its line under an id of its own."""
    fill(alice, ledger, garden)
    out = StringIO()
    export(operator(), out, vectors=True)
    whole = [json.loads(line) for line in out.getvalue().splitlines()]
    spoilt = [whole[0]]
    for kind in dict.fromkeys(line["kind"] for line in whole[1:-1]):
        line = next(line for line in whole if line["kind"] == kind)
        for column in line["row"]:
            row = line["row"] | ({"id": str(new_id())} if "id" in line["row"] else {})
            spoilt.append({**line, "row": row | {column: junk}})
        spoilt += [{**line, part: junk} for part in ("row", "pieces", "evidence", "said")]
    report = take([*spoilt, whole[-1]])
    assert len(report.faults) > 50
    assert search_index().find_errors() == []
    assert is_log_whole()


@pytest.fixture
def talk(alice: User, ledger: Group) -> Lines:
    """An export of three turns of a thread and of a fact in two versions, all of it deleted here."""
    me = person(alice)
    for text in ("One.", "Two.", "Three."):
        store(me, Draft(text, group="ledger", type="episodic", thread="tea"))
    old = store(me, Draft("The port is 8081.", group="ledger", scope="group")).memory
    assert old is not None
    store(me, Draft("The port is 9000.", group="ledger", scope="group", supersedes=old.id))
    out = StringIO()
    export(operator(), out)
    clear()
    return [json.loads(line) for line in out.getvalue().splitlines()]


def middle_turn() -> str:
    return Memory.objects.get(content="Two.").context


def test_an_import_killed_before_its_end_is_made_whole_by_the_next(
    talk: Lines, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(restoring.ExportIntake, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            take(talk)
    assert middle_turn() == ""
    report = take(talk)
    assert (report.added.get("memory"), report.faults) == (None, ())
    assert middle_turn() == "One.\nThree."


def test_a_strict_stop_leaves_what_it_stored_whole(talk: Lines, take: Take) -> None:
    talk.insert(len(talk) - 1, {"kind": "nonsense"})
    with pytest.raises(StrictStop, match="the kind 'nonsense' is unknown"):
        take(talk, strict=True)
    assert middle_turn() == "One.\nThree."
    newer = Memory.objects.get(content="The port is 9000.")
    assert Memory.objects.get(content="The port is 8081.").superseded_by == newer
    assert AuditEntry.objects.filter(origin="", operation="import").count() == 1


def test_the_end_of_an_import_lets_others_write_between_threads(
    talk: Lines, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, depths = len(connection.savepoint_ids), list[tuple[int, int]]()

    def noted(threads: list[int]) -> int:
        depths.append((len(threads), len(connection.savepoint_ids) - outside))
        return refresh_threads(threads)

    monkeypatch.setattr(restoring, "refresh_threads", noted)
    talk.insert(4, {**talk[number(talk, "thread")]})
    talk[4] = json.loads(json.dumps(talk[4]).replace('"tea"', '"bus"'))
    talk[4]["row"]["id"] = str(new_id())
    talk[number(talk, "memory", content="Three.")]["row"] |= {"thread": "bus"}
    assert take(talk).faults == ()
    assert depths == [(1, 1), (1, 1)]


def test_no_line_ties_a_chain_to_another_group(lines: Lines, take: Take, alice: User, garden: Group) -> None:
    """An id of a closed group may be known; a forged line that names it would lead its readers there."""
    hidden = store(person(alice), Draft("The safe opens with 1234.", group="garden", scope="group")).memory
    assert hidden is not None
    old = lines[number(lines, "memory", content="The port is 8081.")]
    at = len(lines) - 1
    for forged in ({"root": str(hidden.id)}, {"superseded_by": str(hidden.id)}):
        line = deepcopy(old)
        text = f"A forged line with {next(iter(forged))}."
        line["row"] |= {"id": str(new_id()), "content": text, "root": None, "superseded_by": None} | forged
        line.pop("pieces", None)
        lines.insert(at, line)
    report = take(lines)
    assert sorted(fault.why for fault in report.faults) == [
        "its root names a memory of another group",
        "its superseded_by names a memory of another group",
    ]
    assert not Memory.objects.filter(content__startswith="A forged").exists()
    assert Memory.objects.get(content="The safe opens with 1234.").superseded_by is None


@pytest.mark.usefixtures("emptied")
def test_a_chain_of_an_older_store_in_two_groups_comes_in_as_two_memories(lines: Lines, take: Take) -> None:
    group = deepcopy(lines[number(lines, "group", slug="ledger")])
    group["row"] |= {"id": str(new_id()), "slug": "garden"}
    lines.insert(number(lines, "group", slug="ledger"), group)
    new = lines[number(lines, "memory", content="The port is 9000.")]
    new["row"] |= {"group": "garden", "root": None}
    report = take(lines)
    [fault] = report.faults
    assert fault.line == number(lines, "memory", content="The port is 8081.") + 1
    assert fault.why == "its superseded_by names a memory of another group"
    old = Memory.objects.get(content="The port is 8081.")
    assert (old.state, old.superseded_by) == ("superseded", None)


def test_a_link_leads_to_a_memory_of_another_group_only_if_the_file_has_it(
    lines: Lines, take: Take, alice: User, garden: Group
) -> None:
    hidden = store(person(alice), Draft("The safe opens with 1234.", group="garden", scope="group")).memory
    assert hidden is not None
    mine = Memory.objects.get(content="Roses need lime.")
    row = {
        "id": str(new_id()), "kind": "conflict", "status": "open", "score": 0.9, "reason": "", "evidence": {},
        "created_at": "2026-05-01T12:00:00+00:00", "author_name": "", "run": None, "settled_at": None,
        "settled_by": "", "source": str(mine.id), "target": str(hidden.id),
    }  # fmt: skip
    lines.insert(len(lines) - 1, {"kind": "link", "row": row})
    assert [fault.why for fault in take(lines).faults] == ["its target names a memory of another group"]
    assert not Link.objects.filter(target=hidden).exists()
    out = StringIO()
    export(operator(), out)
    whole = [json.loads(line) for line in out.getvalue().splitlines()]
    whole.insert(len(whole) - 1, {"kind": "link", "row": row})
    assert take(whole).faults == ()
    assert Link.objects.filter(target=hidden).exists()


PURGED = "Ann's code is 1234."  # as fill() purges it in the garden


@pytest.fixture
def full(alice: User, ledger: Group, garden: Group) -> Lines:
    """An export of everything, whose store has purged a text meanwhile."""
    fill(alice, ledger, garden)
    out = StringIO()
    export(operator(), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def added(lines: Lines, kind: str, **row: Any) -> Lines:
    """The export with a copy of a line of this kind in the garden, under another id and with these values."""
    rows = [line["row"] for line in lines[1:-1]]
    garden = {"garden", *(row["id"] for row in rows if row.get("group") == "garden" and "id" in row)}
    at, line = next(
        (at, line)
        for at, line in enumerate(lines)
        if line["kind"] == kind and garden & {line["row"].get(name) for name in ("group", "memory", "source")}
    )
    own = {"id": str(new_id())} if "id" in line["row"] else {}
    return [*lines[:at], {**deepcopy(line), "row": deepcopy(line["row"]) | own | row}, *lines[at:]]


@pytest.mark.parametrize(
    ("kind", "column", "said"),
    [
        ("thread", "name", PURGED),
        ("thread", "title", f"On this: {PURGED}"),
        ("thread", "tags", [PURGED.lower()]),
        ("memory", "tags", [PURGED]),
        ("memory", "metadata", {PURGED: 1}),
        ("memory", "metadata", {"a": [PURGED]}),
        ("memory", "source_ref", PURGED),
        ("memory", "anchor_commit", PURGED),
        ("link", "reason", PURGED),
        ("link", "evidence", {"x": PURGED}),
        ("doubt", "reason", PURGED),
        ("relation", "predicate", PURGED),
        ("relation", "metadata", {"x": PURGED}),
        ("alias", "name", PURGED),
        ("checkpoint", "state", {"x": [f"Done. {PURGED} Next: tea."]}),
    ],
)
def test_no_column_of_a_line_brings_a_withdrawn_text_back(
    full: Lines, take: Take, kind: str, column: str, said: Any
) -> None:
    others: dict[str, Any] = {"thread": {"name": "x"}, "alias": {"fold": "x"}}.get(kind, {})
    if kind == "memory":
        others = {"content": "Tulips need shade.", "state": "live", "root": None, "superseded_by": None}
    [fault] = take(added(full, kind, **others | {column: said})).faults
    assert fault.why.startswith(f"its '{column}")
    assert fault.why.endswith("repeats a text that was purged here; a curator can lift that")


def test_a_tombstone_whose_reason_repeats_a_withdrawn_text_comes_in_without_it(
    full: Lines, take: Take
) -> None:
    assert take(added(full, "tombstone", hmac="0" * 64, reason=PURGED)).faults == ()
    assert "1234" not in Tombstone.objects.get(hmac="0" * 64).reason


@pytest.mark.parametrize(
    ("kind", "row", "why"),
    [
        ("memory", {"scope": "global"}, "its 'scope' is global, and its group is private"),
        ("thread", {"url": "javascript:alert(1)"}, "its 'url' is not an address"),
        (
            "thread",
            {"url": "https://evil.example/chat", "platform": "claude.ai"},
            "its 'url' is not an address",
        ),
    ],
)
def test_what_no_other_way_stores_is_told(
    full: Lines, take: Take, kind: str, row: dict[str, Any], why: str
) -> None:
    Group.objects.update(private=True)
    for line in full:
        line["row"] = line.get("row", {}) | ({"private": True} if line.get("kind") == "group" else {})
    if kind == "memory":
        row = row | {"content": "Tulips need shade.", "state": "live", "root": None, "superseded_by": None}
    [fault] = take(added(full, kind, **row | ({"name": "other"} if kind == "thread" else {}))).faults
    assert fault.why.startswith(why)
