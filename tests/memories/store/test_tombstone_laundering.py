"""A retracted text comes back by no road: not by restating, replacing, merging, importing or approving it, nor in disguise."""

from collections.abc import Callable
from itertools import product

import pytest
from django.contrib.auth.models import User

from access.errors import Conflict, InvalidInput, LociError
from access.models import Group
from memories.draft import Draft, EditDraft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.language.cleaning import clean_text, fold
from memories.lifecycle.edit import edit
from memories.lifecycle.purge.lift_tombstone import lift_tombstones
from memories.lifecycle.verbs import approve, forget, merge, purge, restore, retract, supersede, verify
from memories.models import Link, LinkKind, Memory
from memories.recall import RecallRequest, recall
from memories.store.bulk import store_many
from tests.memories.builders import fresh, keep, kept, row
from tests.people import agent, person, the_group, the_owner

pytestmark = [pytest.mark.django_db, pytest.mark.model]

WRONG = "The vault is open on Sundays."
OTHER = "The vault has two doors."
THIRD = "The vault was painted green."


def disguise(text: str, mark: str) -> str:
    """Put a character after every second letter."""
    return "".join(c + (mark if at % 2 else "") for at, c in enumerate(text))


DISGUISES: dict[str, str] = {
    "letter by letter": WRONG,
    "capitals": WRONG.upper(),
    "no-break spaces": WRONG.replace(" ", "\u00a0"),
    "thin and ideographic spaces": WRONG.replace(" ", "\u2009\u3000"),
    "line separators": WRONG.replace(" ", "\u2028"),
    "zero-width space": disguise(WRONG, "\u200b"),
    "zero-width joiner": disguise(WRONG, "\u200d"),
    "word joiner": disguise(WRONG, "\u2060"),
    "byte order mark": "\ufeff" + WRONG,
    "soft hyphen": disguise(WRONG, "\u00ad"),
    "right-to-left override": "\u202e" + WRONG + "\u202c",
    "right-to-left mark": disguise(WRONG, "\u200f"),
    "direction isolates": f"\u2066{WRONG}\u2069",
    "variation selector": disguise(WRONG, "\ufe0f"),
    "tag characters": WRONG + "\U000e0041\U000e0042",
    "grapheme joiner": disguise(WRONG, "\u034f"),
    "full width": "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in WRONG),
    "mathematical bold": "".join(chr(0x1D41A + ord(c) - ord("a")) if "a" <= c <= "z" else c for c in WRONG),
    "circled letters": "".join(chr(0x24D0 + ord(c) - ord("a")) if "a" <= c <= "z" else c for c in WRONG),
    "Cyrillic look-alikes": WRONG.translate(str.maketrans("aeop", "\u0430\u0435\u043e\u0440")),
    "Greek look-alikes": WRONG.translate(str.maketrans("onv", "\u03bf\u03b7\u03bd")),
    "ligature and long s": WRONG.replace("s", "\u017f"),
    "invisible letters of other scripts": disguise(WRONG, "\u3164"),
    "musical and interlinear marks": disguise(WRONG, "\ufff9"),
    "overlaid strokes": disguise(WRONG, "\u0336"),
    "enclosing circles": disguise(WRONG, "\u20dd"),
    "control characters": disguise(WRONG, "\x07"),
}
# Ways to say a text; each gives what became of it.
Road = Callable[[User, str], str]


def by_store(alice: User, text: str) -> str:
    return keep(person(alice), text, group="ledger").outcome


def by_an_agent(alice: User, text: str) -> str:
    return keep(agent(alice), text, group="ledger").outcome


def by_supersedes(alice: User, text: str) -> str:
    return keep(person(alice), text, supersedes=the(OTHER).id).outcome


def by_source(alice: User, text: str) -> str:
    return keep(person(alice), text, group="ledger", source="wiki", source_ref="7").outcome


def by_import(alice: User, text: str) -> str:
    drafts = [Draft(text, group="ledger"), Draft(text, group="ledger", source="wiki", source_ref="8")]
    result = store_many(person(alice), drafts)
    return "refused" if len(result.refused) == 2 else "stored"


def by_another_type(alice: User, text: str) -> str:
    return keep(person(alice), text, group="ledger", type="procedural").outcome


def by_a_narrower_scope(alice: User, text: str) -> str:
    return keep(person(alice), text, group="ledger", scope="group").outcome


def by_edit(alice: User, text: str) -> str:
    return edit(person(alice), the(OTHER).id, EditDraft(content=text)).outcome


def by_merge(alice: User, text: str) -> str:
    return merge(person(alice), the(OTHER).id, the(THIRD).id, content=text).state


def by_successor(alice: User, text: str) -> str:
    return retract(person(alice), the(OTHER).id, successor=text).state


def by_relation(alice: User, text: str) -> str:
    return store_relation(person(alice), RelationDraft(text, "is", "Vault", group="ledger")).outcome


ROADS: tuple[Road, ...] = (
    by_store, by_an_agent, by_supersedes, by_source, by_import, by_another_type, by_a_narrower_scope, by_edit,
    by_merge, by_successor, by_relation,
)  # fmt: skip


def the(text: str) -> Memory:
    """The memory with this text."""
    return Memory.objects.get(content=text)


def outcome(road: Road, alice: User, text: str) -> str:
    """The outcome for a text; a refusal in words is one too."""
    try:
        return road(alice, text)
    except (Conflict, InvalidInput):
        return "refused"


def is_recalled(alice: User, text: str) -> bool:
    """True if recall returns a text that reads like this one."""
    found = recall(
        person(alice), RecallRequest("When is the vault open?", group="ledger", max_results=20)
    ).items
    return any(fold(item.memory.content) == fold(text) for item in found)


@pytest.fixture(scope="module")
def store(shared_rows: None, encoder: object) -> Memory:
    """The text that is withdrawn, stored beside two others."""
    the_group("ledger")
    actor = person(the_owner())
    memory = kept(actor, WRONG, group="ledger")
    for text in (OTHER, THIRD):
        kept(actor, text, group="ledger")
    return memory


@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
def test_each_road_is_open_to_a_text_that_was_not_withdrawn(alice: User, store: Memory, road: Road) -> None:
    assert outcome(road, alice, "The porter goes home at six.") != "refused"


@pytest.mark.parametrize("withdraw", [retract, purge])
@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
def test_no_road_brings_a_withdrawn_text_back(
    alice: User, store: Memory, road: Road, withdraw: Callable[..., object]
) -> None:
    withdraw(person(alice), store.id)
    before = Memory.objects.count()
    for text in (WRONG, DISGUISES["zero-width space"], DISGUISES["capitals"]):
        assert outcome(road, alice, text) == "refused"
    assert Memory.objects.count() == before
    assert {fresh(the(text)).state for text in (OTHER, THIRD)} == {"live"}
    assert not is_recalled(alice, WRONG)


@pytest.mark.parametrize("text", DISGUISES.values(), ids=DISGUISES)
def test_no_disguise_brings_a_retracted_text_back(alice: User, store: Memory, text: str) -> None:
    retract(person(alice), store.id)
    stored = keep(person(alice), text, group="ledger")
    assert stored.outcome == "refused", (stored, fold(text))


@pytest.mark.parametrize("text", DISGUISES.values(), ids=DISGUISES)
def test_no_disguise_brings_a_purged_text_back(alice: User, store: Memory, text: str) -> None:
    purge(person(alice), store.id)
    assert keep(person(alice), text, group="ledger").outcome == "refused"


@pytest.mark.parametrize("mark", ["\u0323", "\u0301", "\u0308"], ids=["dots below", "accents", "dots above"])
def test_accents_may_be_a_disguise_so_a_person_looks(alice: User, store: Memory, mark: str) -> None:
    retract(person(alice), store.id)
    stored = keep(person(alice), disguise(WRONG, mark), group="ledger")
    assert stored.outcome == "queued"
    assert stored.why.startswith(f"it restates {store.id}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Er wurde 1990 geboren.", "Er würde 1990 geboren."),
        ("Schon 12 Gäste", "Schön 12 Gäste"),
        ("El ano es largo.", "El año es largo."),
        ("कल", "काल"),
        ("שָׁלוֹם", "שִׁלּוּם"),
        ("が", "か"),
        ("Der Preis ist 5 €.", "Der Preis ist 5 $."),
        ("x ≤ 5", "x ≥ 5"),
        ("x = 5", "x \u2260 5"),
        ("x < 5", "x \u226e 5"),
    ],
)
def test_marks_that_make_another_word_are_no_disguise(one: str, other: str) -> None:
    both = [fold(clean_text(text, field="content", max_chars=100).text) for text in (one, other)]
    assert both[0] != both[1]


def test_a_near_restatement_waits_with_a_conflict_on_every_road(alice: User, ledger: Group) -> None:
    wrong = kept(person(alice), "The nightly backup goes to the NAS.", group="ledger")
    other, third = (kept(person(alice), text, group="ledger") for text in (OTHER, THIRD))
    retract(person(alice), wrong.id)
    near = "The nightly backups go to the NAS."
    stored = keep(agent(alice), near, group="ledger", supersedes=other.id)
    assert stored.outcome == "queued"
    assert stored.memory is not None
    assert Link.objects.filter(kind=LinkKind.CONFLICT, source=stored.memory, target=wrong).exists()
    assert fresh(other).state == "live"
    with pytest.raises(Conflict, match="restates"):
        merge(person(alice), other.id, third.id, content="Nightly backups go to the NAS.")
    assert recall(person(alice), RecallRequest("Where does the backup go?", group="ledger")).items == ()


KESTREL = "Kestrel is the third boat of the harbour fleet."
OF_KESTREL = "What is Kestrel?"
FACTS = ("semantic", "procedural", "entity")


@pytest.mark.parametrize(("was", "is_now"), [*product(FACTS, repeat=2)])
@pytest.mark.parametrize(
    "text", [KESTREL[:-1], f"{KESTREL[:-1]}!", "Kestrel is the harbour fleet's third boat."]
)
def test_a_near_restatement_waits_whatever_its_type(
    alice: User, ledger: Group, was: str, is_now: str, text: str
) -> None:
    wrong = kept(person(alice), KESTREL, group="ledger", type=was)
    retract(person(alice), wrong.id)
    stored = keep(agent(alice), text, group="ledger", type=is_now)
    assert (stored.outcome, stored.why) == ("queued", f"it restates {wrong.id}, which was retracted; a curator decides")  # fmt: skip
    [tie] = Link.objects.all()
    assert (tie.kind, tie.source, tie.target) == (LinkKind.CONFLICT, stored.memory, wrong)
    assert recall(person(alice), RecallRequest(OF_KESTREL, group="ledger")).items == ()


def test_a_restatement_of_another_type_replaces_nothing(alice: User, ledger: Group) -> None:
    wrong = kept(person(alice), KESTREL, group="ledger", type="entity")
    other, third = (kept(person(alice), text, group="ledger") for text in (OTHER, THIRD))
    retract(person(alice), wrong.id)
    assert edit(person(alice), other.id, EditDraft(content=KESTREL[:-1])).outcome == "queued"
    assert keep(agent(alice), KESTREL.upper()[:-1], supersedes=third.id).outcome == "queued"
    with pytest.raises(Conflict, match="restates"):
        merge(person(alice), other.id, third.id, content=f"{KESTREL}..")
    assert {fresh(memory).state for memory in (other, third)} == {"live"}


@pytest.mark.parametrize(("scope", "outcome"), [("global", "queued"), ("group", "created")])
def test_a_restatement_in_another_group_waits_where_the_retracted_one_was_global(
    alice: User, ledger: Group, garden: Group, scope: str, outcome: str
) -> None:
    wrong = kept(person(alice), KESTREL, group="ledger", type="entity", scope=scope)
    retract(person(alice), wrong.id)
    assert keep(agent(alice), KESTREL[:-1], group=garden.slug, scope="global").outcome == outcome


@pytest.mark.parametrize(("was", "is_now"), [("episodic", "semantic"), ("entity", "episodic")])
def test_an_event_and_a_fact_restate_each_other(alice: User, ledger: Group, was: str, is_now: str) -> None:
    retract(person(alice), kept(person(alice), KESTREL, group="ledger", type=was).id)
    assert keep(agent(alice), KESTREL[:-1], group="ledger", type=is_now).outcome == "queued"


@pytest.mark.parametrize(
    "text",
    [
        "Kestrel is boat 4 of the harbour fleet.",
        "Kestrel is not boat 3 of the harbour fleet.",
        "Merlin is boat 3 of the harbour fleet.",
    ],
)
def test_another_fact_does_not_wait_for_what_was_retracted_of_another_type(
    alice: User, ledger: Group, text: str
) -> None:
    wrong = kept(person(alice), "Kestrel is boat 3 of the harbour fleet.", group="ledger", type="entity")
    retract(person(alice), wrong.id)
    kept(agent(alice), text, group="ledger")
    assert not Link.objects.exists()


def test_what_counts_in_another_type_is_not_compared(alice: User, ledger: Group) -> None:
    kept(person(alice), KESTREL, group="ledger", type="entity")
    assert kept(agent(alice), KESTREL[:-1], group="ledger").type == "semantic"
    assert not Link.objects.exists()


# A text that waited, or was hidden, while the same text was withdrawn elsewhere


def twin_of(memory: Memory, **values: object) -> Memory:
    """Write the same text again, past the write path, as a memory of another type."""
    return row(memory.group, memory.content, type="procedural", scope="global", **values)


@pytest.mark.parametrize("verb", [approve, verify])
def test_a_candidate_whose_text_was_withdrawn_is_not_approved(
    alice: User, store: Memory, verb: Callable[..., object]
) -> None:
    waits = twin_of(store, trust="candidate")
    retract(person(alice), store.id)
    with pytest.raises(Conflict, match="was retracted here"):
        verb(person(alice), waits.id)
    assert fresh(waits).trust == "candidate"
    lift_tombstones(person(alice), store.id)
    verb(person(alice), waits.id)


@pytest.mark.parametrize("state", ["forgotten", "expired", "dormant", "merged"])
def test_a_hidden_twin_of_a_withdrawn_text_is_not_restored(alice: User, store: Memory, state: str) -> None:
    twin = twin_of(store, state=state)
    retract(person(alice), store.id)
    with pytest.raises(Conflict, match="was retracted here"):
        restore(person(alice), twin.id)


def test_a_version_that_says_a_withdrawn_text_is_not_brought_back(alice: User, store: Memory) -> None:
    newer = keep(person(alice), "The vault is open on Mondays.", supersedes=store.id).memory
    assert newer is not None
    twin = twin_of(store)
    retract(person(alice), twin.id)
    with pytest.raises(Conflict, match="was retracted here before"):
        restore(person(alice), store.id)
    assert fresh(newer).state == "live"


def test_a_candidate_or_rejected_text_takes_nobodys_place(alice: User, store: Memory) -> None:
    for trust in ("candidate", "rejected", "quarantined"):
        doubtful = row(store.group, f"A {trust} text.", scope="global", trust=trust)
        with pytest.raises(Conflict, match=f"is {trust}"):
            supersede(person(alice), store.id, doubtful.id)


def test_saying_it_often_confirms_nothing(alice: User, bob: User, store: Memory) -> None:
    retract(person(alice), store.id)
    for actor in (agent(alice, name="one"), agent(bob, name="two"), person(bob), person(alice)):
        for _ in range(2):
            assert keep(actor, WRONG, group="ledger").outcome == "refused"
    assert fresh(store).confidence == 0.7


def test_a_retracted_entity_is_not_made_anew_by_its_name(alice: User, ledger: Group) -> None:
    vault = store_relation(person(alice), RelationDraft("Vault", "is", "Room", group="ledger")).subject
    retract(person(alice), vault.id)
    with pytest.raises(LociError, match="repeats a withdrawn text"):
        store_relation(person(alice), RelationDraft("VAULT", "has", "Door", group="ledger"))
    assert not Memory.objects.filter(content="Door").exists()


def test_the_retracted_one_of_two_leads_to_its_successor_and_not_back(alice: User, store: Memory) -> None:
    right = retract(person(alice), store.id, successor="The vault is shut on Sundays.").successor
    with pytest.raises((Conflict, InvalidInput)):
        retract(person(alice), str(right), successor=WRONG)
    with pytest.raises(Conflict):
        restore(person(alice), store.id)
    assert not is_recalled(alice, WRONG)
    assert is_recalled(alice, "The vault is shut on Sundays.")


def test_a_forgotten_text_may_come_back_but_not_once_it_is_retracted(alice: User, store: Memory) -> None:
    forget(person(alice), store.id)
    retract(person(alice), store.id)
    with pytest.raises(Conflict):
        restore(person(alice), store.id)
    assert by_store(alice, WRONG) == "refused"


def test_a_person_who_lifts_it_opens_every_road(alice: User, store: Memory) -> None:
    retract(person(alice), store.id)
    lift_tombstones(person(alice), store.id)
    assert edit(person(alice), the(OTHER).id, EditDraft(content=f"{WRONG} So it says.")).outcome in (
        "new_version",
        "queued",
    )
    # No longer refused; what it restates is still retracted, so it waits as it would in its own type.
    assert by_another_type(alice, WRONG) == by_store(alice, WRONG) == "queued"
