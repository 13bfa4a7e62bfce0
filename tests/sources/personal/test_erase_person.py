"""An erased person is in no byte of the store but those that the plan names; what is others' stays as it was."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management.base import CommandError
from django.db import connection
from django.db.models import Q
from django.test import Client
from django.utils import timezone

from access.audit.verify import is_log_whole
from access.errors import Conflict, NotAuthenticated, NotPermitted
from access.models import ApiToken, AuditEntry, Group, RowChange
from access.tokens import actor_for_secret, operator
from maintenance.backups import make_backup
from maintenance.backups import purge as backup_purging
from maintenance.backups.archive import read_ids
from maintenance.backups.purge import is_purge_owed
from maintenance.doctor import examine
from memories.entities.find_person import find_person
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.purge import WAL_IS_HELD
from memories.models import Doubt, Link, Memory, RecallLog, Thread, Tombstone
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER, write_recalls
from memories.search.schema import begin_purge
from memories.store import Draft, store
from sources.personal import erase
from sources.personal.erase import erase_person, preview_erasure, pseudonym_of
from storage.dialect import dialect
from tests.file_bytes import bytes_of, held_log
from tests.maintenance.conftest import no_backups
from tests.memories.builders import kept
from tests.memories.tables import all_rows
from tests.people import agent, make_token, person
from tests.settings import IS_POSTGRES
from tests.sources.personal.team import ALONE, BUILT_ON, LOGIN, MAIL, NAME, SAVED, TURNS, exported, fill, run

__all__ = ["no_backups"]
ROWS = Q(actor=LOGIN) | Q(actor__startswith=f"{LOGIN}/") | Q(subject=f"user:{LOGIN}")
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]


@pytest.fixture(autouse=True)
def clean_file(transactional_db: None) -> None:
    """Emptying the tables between tests is no purge."""
    if not IS_POSTGRES:
        begin_purge(connection)
        with connection.cursor() as cursor:
            cursor.execute("VACUUM")


@pytest.fixture
def who(alice: User, bob: User, ledger: Group, garden: Group) -> User:
    return fill(alice, bob, ledger, garden)


def stored_bytes() -> bytes:
    """The database file after its log is written back, in lower case; on PostgreSQL all rows."""
    if IS_POSTGRES:
        return repr(all_rows()).lower().encode()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("PRAGMA database_list")
        path = Path(cursor.fetchone()[2])
    wal = path.with_name(f"{path.name}-wal")
    return (bytes_of(path) + (bytes_of(wal) if wal.exists() else b"")).lower()


def erased(who: User) -> erase.Erasure:
    who = User.objects.get(pk=who.pk)
    plan = preview_erasure(operator(), who, on_done=lambda _: None)
    erase_person(operator(), who, on_done=lambda _: None)
    return plan


def test_only_what_the_plan_names_is_left_of_a_person(who: User) -> None:
    now, plan = timezone.now(), erased(who)
    assert plan.mentions == ()
    left = stored_bytes()
    words = (
        MAIL,
        "zenobia",
        "brumpton",
        "vlkodlak",
        "yggdrasil",
        "xanthippolis",
        "wombatling",
        "snorkel",
        "which port has staging",
        "laptop notes",
    )
    assert [word for word in words if word.encode() in left] == []
    assert [text for text in (*ALONE, *TURNS, SAVED) if text.lower().encode() in left] == []
    # The login is in the log alone: who did it, or to whom it was done, which the hashes cover.
    log = AuditEntry.objects.values_list("actor", "subject", "client")
    assert left.count(LOGIN.encode()) == sum(text.lower().count(LOGIN) for row in log for text in row)
    assert plan.log_rows == AuditEntry.objects.filter(at__lt=now).filter(ROWS).count()


def test_what_others_built_on_stays_under_the_pseudonym(who: User, bob: User) -> None:
    plan = erased(who)
    assert len(plan.stays) == len(BUILT_ON)
    for text in BUILT_ON:
        memory = Memory.objects.get(content=text)
        assert memory.author_name == plan.pseudonym == f"former-person-{who.pk}"
    assert Memory.objects.get(content="The staging port is 8082.").author_name == "alice"
    assert Memory.objects.get(content="Bob waters the plants on Saturdays.").author_name == plan.pseudonym
    assert Doubt.objects.get().author_name == plan.pseudonym
    found = recall(person(bob), RecallRequest("Which port has staging?", group="ledger"))
    assert found.items[0].memory.content == "The staging port is 8082."


@pytest.mark.parametrize("name", ["operator", "codex", "job/cycle"])
@pytest.mark.parametrize("how", ["relation", "derived"])
def test_what_was_built_on_without_an_account_stays_unless_a_job_did(who: User, name: str, how: str) -> None:
    writer, memory = replace(operator(), name=name), Memory.objects.get(content=ALONE[1])
    if how == "relation":
        evidence = (str(memory.id),)
        draft = RelationDraft("Printers", "owned_by_team", "Payments", group="garden", evidence=evidence)
        store_relation(writer, draft)
    else:
        drawn = kept(writer, "New printers are in the budget.", group="garden")
        Link.objects.create(kind="derived", source=drawn, target=memory, created_at=drawn.created_at)
    erased(who)
    assert Memory.objects.filter(content=ALONE[1]).exists() is (name != "job/cycle")


def test_what_is_others_is_the_same_byte_for_byte(who: User) -> None:
    before = exported()
    erased(who)
    after = set(exported())
    gone = [line for line in before if LOGIN not in line and line not in after]
    assert ['"name":"plan"' in line for line in gone] == [True]  # the thread of a checkpoint of theirs
    assert [line for line in after if LOGIN in line] == []


def test_the_log_is_whole_and_the_doctor_finds_nothing_new(who: User) -> None:
    before = {each.check: each.verdict for each in examine(operator()).findings}
    erased(who)
    assert is_log_whole()
    assert {each.check: each.verdict for each in examine(operator()).findings} == before


def test_a_name_in_use_stops_an_erasure_before_it_begins(who: User) -> None:
    User.objects.create_user(pseudonym_of(who).title())
    before = Memory.objects.count()
    with pytest.raises(Conflict, match="is in use"):
        erased(who)
    assert Memory.objects.count() == before
    assert User.objects.get(pk=who.pk).is_active


def test_a_second_erasure_is_refused_and_the_log_stays_whole(who: User) -> None:
    erased(who)
    for step in (erased, lambda user: run("erase", pseudonym_of(user), "--yes")):
        with pytest.raises((Conflict, CommandError), match="erased already"):
            step(who)
    # Whatever asks for it: the rows of the erasure itself keep what they say.
    erase._clear_payloads(operator(), User.objects.get(pk=who.pk))
    assert is_log_whole()
    ends = AuditEntry.objects.filter(operation="person", payload_row__payload__action="erase")
    assert ends.get().payload["changes"] == {"is_active": [True, False]}


def test_the_dry_run_says_what_the_erasure_does_and_changes_nothing(who: User) -> None:
    before = all_rows()
    plan = run("erase", LOGIN, "--dry-run")
    assert all_rows() == before
    assert plan["dry_run"] is True
    assert plan["destroyed"]["memories"] == len(ALONE) + len(TURNS)
    done = run("erase", LOGIN, "--yes")
    assert done == plan | {"dry_run": False, "samples": [], "remains": list(dialect().purge_leaves)}


def test_what_still_has_a_text_is_told(who: User, bob: User) -> None:
    quote = kept(person(bob), f"It was said: {ALONE[0]}", group="ledger")
    remains = run("erase", LOGIN, "--yes")["remains"]
    assert [line for line in remains if "other memories quote it" in line and str(quote.id) in line]


@pytest.mark.sqlite(reason="the write-ahead log")
def test_a_reader_that_holds_the_log_of_pages_is_told_of(who: User) -> None:
    with held_log():
        assert WAL_IS_HELD in erase_person(operator(), who, on_done=lambda _: None)
    connection.close()


@pytest.mark.usefixtures("no_backups")
def test_each_backup_is_rewritten_once(who: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erase, "_PURGED_AT_ONCE", 1)
    made = make_backup(operator())
    began, times = made.path.read_bytes(), list[tuple[Any, ...]]()
    real = backup_purging._rewrite_backup
    monkeypatch.setattr(backup_purging, "_rewrite_backup", lambda *how: times.append(how) or real(*how))
    erased(who)
    assert (len(times), made.path.read_bytes() != began, is_purge_owed()) == (1, True, False)
    gone = frozenset(Tombstone.objects.filter(kind="purged").values_list("memory_id", flat=True))
    assert not gone & read_ids(made.path)


def test_texts_that_name_the_person_are_listed_and_kept(who: User, bob: User) -> None:
    text = f"{NAME} ordered the chairs."
    memory = kept(person(bob), text, group="ledger")
    assert run("erase", LOGIN, "--dry-run")["mentions"] == [str(memory.id)]
    erased(who)
    assert Memory.objects.get(pk=memory.pk).content == text
    assert [each.memory for each in find_person(operator(), NAME).memories] == [memory]


def test_a_text_that_is_destroyed_does_not_come_back(who: User, bob: User) -> None:
    erased(who)
    assert Tombstone.objects.filter(kind="purged").count() >= len(ALONE)
    again = store(person(bob), Draft(ALONE[0], group="ledger"))
    assert again.outcome != "created"


def test_access_ends(who: User) -> None:
    _, secret = make_token(who, name="phone")
    client = Client()
    client.force_login(who)
    erased(who)
    with pytest.raises(NotAuthenticated):
        actor_for_secret(secret)
    assert not client.login(username=LOGIN, password="a-long-password")
    assert (ApiToken.objects.filter(user=who).count(), Session.objects.count()) == (0, 0)
    now = User.objects.get(pk=who.pk)
    assert (now.username, now.email, now.is_active, now.has_usable_password()) == (
        pseudonym_of(who),
        "",
        False,
        False,
    )
    assert not Thread.objects.filter(owner=who).exists()
    assert not RecallLog.objects.filter(actor__startswith=LOGIN).exists()


def test_a_recall_that_waits_in_another_process_is_not_written(who: User, bob: User) -> None:
    for actor in (agent(who, name="phone"), person(who), person(bob)):
        recall(actor, RecallRequest("Where do snorkels grow?", group="ledger"))
    waiting, COUNTER._pending = COUNTER._pending, []
    erased(who)
    write_recalls(waiting)
    assert set(RecallLog.objects.values_list("actor", flat=True)) == {"bob"}


@pytest.mark.parametrize("step", ["purge_rows", "_forget_former_values", "_naming_rows", "_delete_account"])
def test_an_erasure_that_was_killed_goes_on(who: User, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(erase, step, killed)
        with pytest.raises(KeyboardInterrupt):
            erase_person(operator(), who, on_done=lambda _: None)
    assert is_log_whole()
    assert not User.objects.get(username=LOGIN).is_active
    erased(who)
    left = stored_bytes()
    assert [text for text in (*ALONE, *TURNS, SAVED, MAIL) if text.lower().encode() in left] == []
    assert not RowChange.objects.filter(vals__icontains=LOGIN).exists()


@pytest.mark.usefixtures("no_backups")
def test_an_erasure_that_stops_clears_the_copies_of_what_it_purged(
    who: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise Conflict("Not now.")

    made = make_backup(operator())
    monkeypatch.setattr(erase, "_naming_rows", stopped)
    with pytest.raises(Conflict):
        erase_person(operator(), who, on_done=lambda _: None)
    gone = frozenset(Tombstone.objects.filter(kind="purged").values_list("memory_id", flat=True))
    assert (bool(gone), bool(gone & read_ids(made.path)), is_purge_owed()) == (True, False, False)


def test_what_was_built_on_meanwhile_is_not_destroyed(
    who: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        erase, "_sorted_memories", lambda *_: iter([([Memory.objects.get(content=BUILT_ON[0])], True)])
    )
    with pytest.raises(Conflict, match="built on"):
        erased(who)
    assert Memory.objects.filter(content=BUILT_ON[0]).exists()


def test_only_who_manages_people_erases_and_asks_first(who: User, bob: User, alice: User) -> None:
    with pytest.raises(NotPermitted):
        erase_person(person(bob), who, on_done=lambda _: None)
    with pytest.raises(CommandError, match="cannot be undone"):
        run("erase", LOGIN)
    with pytest.raises(CommandError, match="No active superuser would be left"):
        run("erase", "alice", "--yes")
    assert User.objects.filter(username__in=[LOGIN, "alice"], is_active=True).count() == 2
