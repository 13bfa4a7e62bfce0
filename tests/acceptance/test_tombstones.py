"""Tombstones: a text that was withdrawn does not come back, whoever says it, however it is written, whatever runs."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.errors import LociError
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from maintenance.doctor import repair
from maintenance.retention import enforce_retention
from memories.draft import Draft, EditDraft
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.lifecycle.purge.lift_tombstone import lift_tombstones
from memories.models import Memory, Tombstone
from memories.store import store
from memories.store.bulk import store_many
from memories.types import Scope
from sources.importing.formats.texts import TEXTS
from sources.importing.importer import LineRules
from tests.acceptance.conftest import Clock
from tests.acceptance.house import House
from tests.acceptance.reading import HANDED_OUT, Wanted, tellers
from tests.maintenance.events import MONDAY, happen
from tests.memories.builders import fresh, keep, kept
from tests.people import agent

pytestmark = [pytest.mark.django_db, pytest.mark.model]

QUESTION = "When is the vault open?"
WRONG = "The vault is open on Sundays and guarded by Quokkazebu."
OTHER, THIRD = "The vault has two doors.", "The vault was painted green."
WANTED = {"question": QUESTION, "words": "open on Sundays"}
DAY = timedelta(days=1)
withdrawals = pytest.mark.parametrize("withdraw", [verbs.retract, verbs.purge], ids=["retracted", "purged"])
Withdraw = Callable[..., object]


def handed_out(house: House, id_: object) -> list[str]:
    """The interfaces that return the withdrawn text or a disguised one."""
    return tellers(HANDED_OUT, house, Wanted(id=str(id_), **WANTED), "Quokkazebu")


def is_refused(work: Callable[[], object]) -> bool:
    """True if a text was refused, by an answer or by an error."""
    try:
        done = work()
    except LociError:
        return True
    return getattr(done, "outcome", "") == "refused" or bool(
        getattr(done, "refused", ()) or getattr(done, "faults", ())
    )


def file_of(folder: Path, *texts: str) -> Path:
    """Write a source: JSON lines, each with an id of its own."""
    path = folder / "handbook.jsonl"
    lines = [json.dumps({"id": f"{at}", "text": text}) for at, text in enumerate(texts)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def imported(house: House, path: Path) -> object:
    return TEXTS.run(house.person, path, LineRules(source="handbook", group="ledger"))


@withdrawals
def test_it_holds_against_laundering(house: House, bob: User, withdraw: Withdraw) -> None:
    """Saying it as a correction, again and again, in others' names, or by way of a change to another memory fails."""
    wrong, other, third = (kept(house.person, text, group="ledger") for text in (WRONG, OTHER, THIRD))
    assert handed_out(house, wrong.id) == [*HANDED_OUT]
    withdraw(house.person, wrong.id)
    roads: dict[str, Callable[[], object]] = {
        "restated": lambda: keep(house.person, WRONG, group="ledger"),
        "restated by another person's agent": lambda: keep(agent(bob), WRONG, group="ledger"),
        "superseding": lambda: keep(house.agent, WRONG, supersedes=other.id),
        "from a source": lambda: keep(house.agent, WRONG, group="ledger", source="wiki", source_ref="7"),
        "among many": lambda: store_many(house.agent, [Draft(WRONG, group="ledger")]),
        "another type": lambda: keep(house.agent, WRONG, group="ledger", type="procedural"),
        "as an edit": lambda: edit(house.person, other.id, EditDraft(content=WRONG)),
        "as a merge": lambda: verbs.merge(house.person, other.id, third.id, content=WRONG),
        "as what is right": lambda: verbs.retract(house.person, other.id, successor=WRONG),
    }
    assert [name for name, road in roads.items() if not is_refused(road)] == []
    for _ in range(3):  # many voices confirm nothing
        for actor in (house.agent, agent(bob, name="two"), agent(house.user, name="three")):
            assert keep(actor, WRONG, group="ledger").outcome == "refused"
    assert handed_out(house, wrong.id) == []
    assert {fresh(row).state for row in (other, third)} == {"live"}
    lift_tombstones(house.person, wrong.id)  # and only a person's decision opens the way again
    assert keep(house.agent, WRONG, group="ledger").outcome in ("created", "queued")


@withdrawals
def test_it_survives_expiry_and_clean_up(house: House, clock: Clock, withdraw: Withdraw) -> None:
    """Two years of cycles, clean-up, retention and repair wear no tombstone off, and destroy nothing that only faded."""
    began = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
    clock(began)
    wrong = kept(house.person, WRONG, group="ledger", confidence=0.06, expires_at=began + 20 * DAY)
    hidden = kept(house.person, OTHER, group="ledger", confidence=0.06)
    faint = kept(house.person, THIRD, group="ledger", confidence=0.06)
    withdraw(house.person, wrong.id)
    verbs.forget(house.person, hidden.id)
    for days in (40, 200, 400, 730):
        clock(began + days * DAY)
        run_cycle(operator(), RunPlan(now=began + days * DAY, max_share=1))
        enforce_retention(operator(), now=began + days * DAY)
    repair(operator())
    assert not Memory.objects.filter(pk=hidden.pk).exists()
    assert fresh(faint).state == "dormant"
    assert Tombstone.objects.filter(lifted_at=None).count() == 1
    assert keep(house.agent, WRONG, group="ledger").outcome == "refused"
    assert keep(house.agent, OTHER, group="ledger").outcome == "created"
    assert handed_out(house, wrong.id) == []


TRICKS: dict[str, Callable[[str], str]] = {
    "capitals": str.upper,
    "double and no-break spaces": lambda text: text.replace(" ", "\u00a0 "),
    "line breaks": lambda text: text.replace(" ", "\n"),
    "zero-width spaces": lambda text: "\u200b".join(text),
    "soft hyphens": lambda text: "\u00ad".join(text),
    "byte order mark": lambda text: f"\ufeff{text}",
    "right-to-left override": lambda text: f"\u202e{text}\u202c",
    "isolates": lambda text: f"\u2066{text}\u2069",
    "tag characters": lambda text: f"{text}\U000e0041\U000e0042",
    "variation selectors": lambda text: "\ufe0f".join(text),
    "full width": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "Cyrillic letters": lambda text: text.translate(str.maketrans("aeop", "\u0430\u0435\u043e\u0440")),
    "bold letters": lambda text: "".join(chr(0x1D41A + ord(c) - 97) if "a" <= c <= "z" else c for c in text),
    "decomposed": lambda text: f"{text}\u0336",
    "control characters": lambda text: "\x07".join(text),
}


@withdrawals
def test_unicode_and_white_space_tricks_do_not_get_past_it(house: House, withdraw: Withdraw) -> None:
    """However the same words are dressed up, they are the same words; other words are not caught with them."""
    wrong = kept(house.person, WRONG, group="ledger")
    withdraw(house.person, wrong.id)
    said = {name: keep(house.agent, trick(WRONG), group="ledger").outcome for name, trick in TRICKS.items()}
    assert said == dict.fromkeys(TRICKS, "refused")
    assert handed_out(house, wrong.id) == []
    right = "The vault is open on Mondays and guarded by Jonas."
    assert {keep(house.agent, trick(right), group="ledger").outcome for trick in (str.upper, str.lower)} <= {
        "created",
        "reinforced",
    }
    assert Memory.objects.filter(content=right.upper(), state="live").exists()


@withdrawals
def test_re_extraction_stays_inactive(house: House, tmp_path: Path, withdraw: Withdraw) -> None:
    """The source that brought it may be read again, events may repeat it, the cycle may run: it stays out."""
    source = file_of(tmp_path, WRONG, OTHER)
    imported(house, source)
    wrong = Memory.objects.get(content=WRONG)
    assert handed_out(house, wrong.id) == [*HANDED_OUT]
    withdraw(house.person, wrong.id)
    for _ in range(2):
        imported(house, source)
    renamed = tmp_path / "handbook-of-2026.jsonl"
    renamed.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    TEXTS.run(house.person, renamed, LineRules(source="handbook-of-2026", group="ledger"))
    assert handed_out(house, wrong.id) == []
    assert fresh(Memory.objects.get(content=OTHER, state="live")).trust == "active"
    # What withdrew the text withdrew its wording in events too: none of them may be written, so none is promoted.
    drafts = [Draft(WRONG, type="episodic", group="ledger", valid_from=MONDAY + at * DAY) for at in range(6)]
    assert len(store_many(house.person, drafts).refused) == 6
    # Events that come near it in other words are no way either, as far as its vector is kept.
    happen([f"{name} says that the vault is open on Sundays" for name in ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn")],
           step=DAY)  # fmt: skip
    run_cycle(operator(), RunPlan(now=timezone.now(), max_share=1))
    claims = Memory.objects.filter(source="loci:promote", state="live").exclude(trust="candidate")
    assert not claims.exists()
    assert handed_out(house, wrong.id) == []


def test_events_that_repeat_what_was_not_withdrawn_are_promoted(house: House) -> None:
    """The check above sees a promotion: without a withdrawal the same events become a fact that waits."""
    for at in range(3):
        store(house.person, Draft(WRONG, type="episodic", group="ledger", valid_from=MONDAY + at * DAY))
    run_cycle(operator(), RunPlan(now=timezone.now(), max_share=1))
    assert Memory.objects.get(source="loci:promote").content == WRONG


@withdrawals
def test_there_is_no_second_hidden_row(house: House, tmp_path: Path, withdraw: Withdraw) -> None:
    """No other row, in whatever state or trust, keeps the text to be served later: not a copy, wording or candidate."""
    source = file_of(tmp_path, WRONG)
    wrong = kept(house.person, WRONG, group="ledger", scope=Scope.GROUP)
    imported(house, source)  # a merged row of the same text
    keep(house.agent, f"{WRONG[:-1]}!", group="ledger", scope=Scope.GROUP)
    assert Memory.objects.filter(content__startswith=WRONG[:-1]).count() > 1
    withdraw(house.person, wrong.id)
    for text in (WRONG, WRONG.upper(), TRICKS["zero-width spaces"](WRONG)):
        keep(house.agent, text, group="ledger")
        imported(house, file_of(tmp_path, text))
    rows = Memory.objects.filter(content__icontains="quokkazebu").exclude(pk=wrong.pk)
    serving = rows.filter(state="live") if withdraw is verbs.retract else rows
    assert [(row.state, row.trust, row.content) for row in serving] == []
    for row in rows:  # what is history stays so: nobody can bring it back
        with pytest.raises(LociError):
            verbs.restore(house.person, row.id)
    assert handed_out(house, wrong.id) == []


@pytest.mark.parametrize(
    "twin", [{"scope": "global"}, {"type": "procedural"}], ids=["of another scope", "of another type"]
)
@withdrawals
def test_no_twin_outlives_a_withdrawal(house: House, withdraw: Withdraw, twin: dict[str, str]) -> None:
    """The same words stored twice in a group, once for all groups and once as a way of doing, are withdrawn as one."""
    wrong = kept(house.person, WRONG, group="ledger")
    kept(house.person, WRONG, group="ledger", **twin)
    withdraw(house.person, wrong.id)
    assert handed_out(house, wrong.id) == []


def test_a_purge_names_the_twin_that_it_leaves(house: House) -> None:
    """A memory with the same text and other versions is not destroyed: the certificate says where the text remains."""
    wrong = kept(house.person, WRONG, group="ledger")
    twin = kept(house.person, "Ask Carla for the key.", group="ledger", type="procedural")
    edit(house.person, twin.id, EditDraft(content=WRONG))
    certificate = verbs.purge(house.person, wrong.id).certificate
    assert certificate is not None
    assert any(line.startswith("1 other memories quote it: ") for line in certificate.remains)
