"""`audit verify | show | export` says what the log says, no more and no less."""

import json
import stat
from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from access.audit import GENESIS, append, chain_hash, payload_digest, start_hash, verify
from access.audit.verify import verify_chain
from access.audit_search import LogFilter, export_log, find_log_entries, payload_changes
from access.errors import GroupNotFound, InvalidInput, NotPermitted
from access.models import AuditEntry, AuditHead, AuditPayload, Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from memories.draft import Draft, EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import forget, pin, purge
from memories.models import Memory
from memories.store import store
from tests.people import agent, alice, bob, garden, person  # noqa: F401 - fixtures

Remember = Callable[..., Memory]
pytestmark = [pytest.mark.django_db, pytest.mark.model]
FOREIGN = "0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f"


def run(*args: str) -> str:
    out = StringIO()
    call_command("audit", *args, stdout=out)
    return out.getvalue()


def run_json(*args: str) -> Any:
    return json.loads(run(*args, "--json"))


def foreign_chain() -> None:
    """An imported chain of one row."""
    entry = AuditEntry(
        origin=FOREIGN, seq=1, at=timezone.now(), operation="store", actor="zoe", via="mcp",
        digest=payload_digest("s", {}),
    )  # fmt: skip
    entry.hash = chain_hash(GENESIS, entry)
    entry.save()
    AuditPayload.objects.create(entry=entry, salt="s", payload={})
    AuditHead.objects.create(origin=FOREIGN, seq=1, hash=entry.hash)


def test_verify_walks_every_chain(remember: Remember) -> None:
    remember("The port is 8081")
    foreign_chain()
    said = run_json("verify")
    assert said["is_whole"] is True
    ledger = AuditEntry.objects.exclude(group=None).count()
    assert [(chain["name"], chain["rows"], chain["unlinked"]) for chain in said["chains"]] == [
        ("ledger", ledger, ledger),
        (f"{FOREIGN} legacy", 1, 1),
    ]
    *lines, keep = run("verify").splitlines()
    assert [line.split()[0] for line in lines] == ["chain", "ledger", "heads", FOREIGN]
    assert all(line.endswith("unbroken") for line in lines[1:])
    assert keep.endswith(f" {said['keep']}")
    remember("The port is 8082 now")
    assert run_json("verify", "--kept", said["keep"])["is_whole"] is True


def test_verify_ends_with_1_where_the_log_is_not_what_was_kept(remember: Remember) -> None:
    remember("The port is 8081")
    keep = run_json("verify")["keep"]
    row, _, hash_ = keep.partition(":")
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("audit", "verify", "--kept", f"{row}:{hash_[::-1]}", stdout=out)
    assert ended.value.code == 1
    assert f"NOT AS KEPT: the row {row} has another hash than the one kept." in out.getvalue()


@pytest.mark.parametrize("origin", ["", FOREIGN])
def test_verify_ends_with_1_where_any_chain_is_broken(remember: Remember, origin: str) -> None:
    remember("The port is 8081")
    foreign_chain()
    AuditEntry.objects.filter(origin=origin, operation="store").update(actor="mallory")
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("audit", "verify", stdout=out)
    assert ended.value.code == 1
    assert out.getvalue().count("BROKEN") == 1
    assert "the row does not follow the one before" in " ".join(out.getvalue().split())


def test_a_chain_whose_head_is_gone_is_still_walked(remember: Remember) -> None:
    remember("The port is 8081")
    AuditHead.objects.all().delete()
    with pytest.raises(SystemExit):
        run("verify")


def test_rows_behind_the_head_are_found(remember: Remember) -> None:
    remember("The port is 8081")
    head = AuditHead.objects.get()
    row = AuditEntry.objects.get(chain=head.chain, seq=head.seq)
    row.pk, row.seq = None, head.seq + 1
    row.save(force_insert=True)
    assert verify_chain(head.chain).why == "there are rows after the chain's end"


def test_what_is_appended_during_the_walk_is_no_fault(remember: Remember) -> None:
    for number in range(3):
        append(operator(), "run", subject=f"step {number}")
    with patch.object(verify, "VERIFY_BATCH_ROWS", 1):
        report = verify_chain(on_rows=lambda rows: append(operator(), "run", subject="meanwhile") and None)
    assert report.is_whole


def test_an_empty_log_is_said_to_be_empty(db: None) -> None:
    assert run("verify") == "The log is empty.\n"
    assert run("show") == "No rows match.\n"


def test_show_prints_before_and_after(remember: Remember) -> None:
    memory = remember("The port is 8081", confidence=0.6)
    pin(operator(), memory.id)
    forget(operator(), memory.id, reason="not needed")
    text = " ".join(run("show", "--memory", str(memory.id)).split())
    assert "pinned false → true" in text
    assert "state live → forgotten" in text
    assert "because: not needed" in text
    assert text.index("forget operator") < text.index("pin operator") < text.index("store operator")


def test_a_row_whose_words_were_purged_says_so(remember: Remember) -> None:
    memory = remember("The vault code is 4711")
    purge(operator(), memory.id, reason="asked for")
    rows = run("show", "--memory", str(memory.id)).splitlines()[1:]
    assert any("store" in row and "(purged)" in row for row in rows)
    assert "4711" not in run("show")


def test_show_shows_all_versions_of_a_memory(remember: Remember) -> None:
    memory = remember("The port is 8081")
    new = edit(operator(), memory.id, EditDraft(content="The port is 9090")).memory
    rows = run_json("show", "--memory", str(new.id))["rows"]
    assert {row["memory"] for row in rows} == {str(memory.id), str(new.id)}


def test_filters_narrow(remember: Remember, alice: User, ledger: Group, garden: Group) -> None:  # noqa: F811
    early = timezone.now()
    memory = remember("The port is 8081")
    pin(operator(), memory.id)
    machine = agent(alice, name="laptop", groups=[garden])
    store(machine, Draft("Tulips", group="garden"))
    assert [
        row["operation"] for row in run_json("show", "--group", "garden", "--operation", "store")["rows"]
    ] == ["store"]
    assert {
        row["actor"] for row in run_json("show", "--actor", "alice", "--since", early.isoformat())["rows"]
    } == {"alice/laptop"}
    assert run_json("show", "--actor", "ali")["rows"] == []
    assert [row["operation"] for row in run_json("show", "--operation", "pin")["rows"]] == ["pin"]
    assert run_json("show", "--since", early.isoformat(), "--operation", "group")["rows"] == []
    before = run_json("show", "--until", early.isoformat())["rows"]
    assert before
    assert {row["operation"] for row in before} <= {"group", "token", "member"}
    assert len(run_json("show", "--limit", "2")["rows"]) == 2
    append(operator(), "run", subject="of a run")
    AuditEntry.objects.filter(subject="of a run").update(run=FOREIGN)
    assert [row["subject"] for row in run_json("show", "--run", FOREIGN)["rows"]] == ["of a run"]
    run_cycle(operator(), RunPlan(now=timezone.now() + timedelta(days=3)))
    [row] = run_json("show", "--operation", "decay", "--group", "garden")["rows"]
    assert (row["subject"], row["payload"]["decayed"]) == ("1 decayed", 1)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--operation", "juggle"], "'juggle' is not a valid operation"),
        (["--memory", "abc"], "'abc' is not a memory id"),
        (["--since", "yesterday"], "'yesterday' in since is not a date"),
        (["--since", "2026-05-02", "--until", "2026-05-01"], "'until' is not after 'since'"),
        (["--limit", "0"], "limit is 0"),
        (["--group", "nowhere"], "There is no group 'nowhere'"),
        (["--at", "2026-05-01"], "--at needs --memory"),
    ],
)
def test_bad_filters_are_named(ledger: Group, args: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        run("show", *args)


def test_a_memory_at_a_past_moment(remember: Remember) -> None:
    memory = remember("The port is 8081", tags=("net",))
    then = timezone.now()
    edit(operator(), memory.id, EditDraft(tags=("net", "deploy")))
    text = run("show", "--memory", str(memory.id), "--at", then.isoformat())
    assert "tags" in text
    assert '["net"]' in text
    assert text.splitlines()[-1].endswith("Rebuilt from 1 rows of the log.")
    said = run_json("show", "--memory", str(memory.id), "--at", timezone.now().isoformat())
    assert said["fields"]["tags"] == ["net", "deploy"]


def test_an_export_can_be_proved_by_anybody(remember: Remember, tmp_path: Path) -> None:
    remember("The port is 8081, said Änne")
    foreign_chain()
    path = tmp_path / "log.jsonl"
    rows = AuditEntry.objects.count() + 1  # the link of the chains
    assert run("export", str(path)) == f"Exported {rows:,} rows to {path}.\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    ends = dict[str, str]()
    for line in (one for one in lines if one["row"]["origin"] == ""):
        row = line["row"]
        previous = ends.get(row["chain"]) or start_hash(row["chain"], GENESIS)
        assert payload_digest(line["said"]["salt"], line["said"]["payload"]) == row["digest"]
        entry = AuditEntry(**{**row, "at": datetime.fromisoformat(row["at"])})
        assert chain_hash(previous, entry) == row["hash"]
        ends[row["chain"]] = row["hash"]
    assert {*ends} == {str(Group.objects.get().id), "heads"}
    assert lines[-1]["row"]["origin"] == FOREIGN
    assert AuditEntry.objects.order_by("-key")[0].subject == "audit log"


def test_an_export_never_overwrites(ledger: Group, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("mine")
    with pytest.raises(CommandError, match="already exists"):
        run("export", str(path))
    assert path.read_text() == "mine"


def test_an_export_that_fails_leaves_no_file(ledger: Group, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with pytest.raises(CommandError, match="no group"):
        run("export", str(path), "--group", "nowhere")
    assert not path.exists()
    with pytest.raises(CommandError, match="cannot be written"):
        run("export", str(tmp_path / "no" / "folder.jsonl"))


def test_a_member_finds_and_exports_the_log_of_his_groups_alone(
    remember: Remember,
    bob: User,  # noqa: F811
    garden: Group,  # noqa: F811
) -> None:
    remember("The port is 8081")
    store(operator(), Draft("Tulips", group="garden"))
    out = StringIO()
    count = export_log(person(bob), out)
    groups = {json.loads(line)["row"]["group"] for line in out.getvalue().splitlines()}
    assert groups == {str(Group.objects.get(slug="ledger").id)}
    assert count == len(out.getvalue().splitlines())
    assert "Tulips" not in out.getvalue()
    with pytest.raises(GroupNotFound):
        find_log_entries(person(bob), LogFilter(group="garden"))
    with pytest.raises(NotPermitted):
        find_log_entries(agent(bob, scopes=["write"]))
    with pytest.raises(InvalidInput):
        find_log_entries(
            operator(), LogFilter(since=timezone.now(), until=timezone.now() - timedelta(days=1))
        )


@pytest.mark.parametrize(
    ("payload", "changes"),
    [
        ({}, {}),
        ({"changes": {"state": ["live", "forgotten"]}}, {"state": ("live", "forgotten")}),
        ({"before": {"a": 1, "b": 2}, "after": {"a": 1, "b": 3}}, {"b": (2, 3)}),
        ({"after": {"a": 1}}, {}),
        ({"changes": ["odd"]}, {}),
        ({"changes": {"a": "odd"}}, {}),
    ],
)
def test_what_a_row_says_changed(payload: dict[str, Any], changes: dict[str, Any]) -> None:
    assert payload_changes(payload) == changes
