"""Evidence: derived data leads back to its memories, falls with them, and can be rebuilt from them."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from access.models import Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from maintenance.doctor import examine, repair
from memories.browse.inspection import inspect_memory
from memories.lifecycle.verbs import forget, purge, retract
from memories.models import Link, LinkKind, LinkStatus, Memory, Piece
from memories.models.short_id import short_id
from memories.recall import RecallRequest, recall
from tests.acceptance.house import House
from tests.maintenance.events import MONDAY, NOW, TOMATOES, UNRELATED, happen
from tests.maintenance.state import index_faults, whole_state
from tests.memories.builders import fresh, kept
from tests.memories.indexes import VECTORS, lose_all_words, run

pytestmark = [pytest.mark.django_db, pytest.mark.model]

ALIKE = (
    "The staging server needs a restart after each deploy",
    "After each deploy the staging server needs a restart",
    "The staging server needs to be restarted after each deploy",
)
LATER = MONDAY + timedelta(days=7)
LAST_WORDS = "soap water"  # they stand in one of TOMATOES alone
QUESTION = "What were the aphids on the tomatoes sprayed with?"


def cycled(**more: object) -> dict[str, int]:
    counts: dict[str, int] = run_cycle(operator(), RunPlan(now=NOW, max_share=1, **more)).counts  # type: ignore[arg-type]
    return counts


def summary() -> Memory:
    return Memory.objects.get(source="loci:compact")


def fact() -> Memory:
    return Memory.objects.get(source="loci:promote")


def answers(house: House, question: str) -> list[str]:
    return [item.text for item in recall(house.agent, RecallRequest(question, group="ledger")).items]


def test_a_derived_claim_leads_to_its_sources(house: House) -> None:
    """From a summary or a promoted fact, whoever reads it comes to each memory that it was made from, and its text."""
    events, said = happen(TOMATOES), happen(ALIKE, start=LATER, step=timedelta(days=1))
    assert not Memory.objects.filter(source__startswith="loci:").exists()
    counts = cycled()
    assert (counts["summaries"], counts["promoted"]) == (1, 1)
    # The short week of what was said joins the one before.
    for claim, sources, kind in (
        (summary(), [*events, *said], LinkKind.DERIVED),
        (fact(), said, LinkKind.EVIDENCE),
    ):
        found = inspect_memory(house.agent, claim.id)
        led = {link.target.id: link.target.content for link in found.links if link.kind == kind}
        assert led == {source.id: source.content for source in sources}
        seen = house.tool_text("memory_inspect", id=str(claim.id))
        assert [source.id for source in sources if short_id(source.id) not in seen] == []
        for source in sources:
            assert source.content in house.tool_text("memory_inspect", id=str(source.id))


@pytest.mark.parametrize("verb", [forget, retract, purge], ids=lambda verb: verb.__name__)
def test_deleting_a_source_reaches_what_was_derived(house: House, verb: Callable[..., object]) -> None:
    """What rests on a withdrawn memory does not go on telling it: the summary goes, the fact loses its footing."""
    events, said = happen(TOMATOES), happen(ALIKE, start=LATER, step=timedelta(days=1))
    cycled()
    told, claim = summary(), fact()
    assert claim.trust == "active"  # the group has no policy
    assert any(LAST_WORDS in text for text in answers(house, QUESTION))
    source = next(event for event in events if LAST_WORDS in event.content)
    verb(house.person, source.id)
    verb(house.person, next(event for event in said if event.content != claim.content).id)
    assert not any(LAST_WORDS in text for text in answers(house, QUESTION))
    assert Memory.objects.filter(pk=told.pk, state="live").count() == 0
    assert Memory.objects.filter(pk=told.pk).exists() == (verb is not purge)
    assert {fresh(event).state for event in events if event != source} == {"live"}
    assert any("trellis" in text for text in answers(house, "What was built for the tomato plants?"))
    assert fresh(claim).trust == "active"
    labels = {item.label for item in recall(house.agent, RecallRequest(ALIKE[0], group="ledger")).items
              if item.memory.id == claim.id}  # fmt: skip
    assert [label.split(" by ")[0] for label in labels] == ["disputed"]
    assert cycled().get("promoted", 0) == 0  # two occasions are too few
    assert not any(
        LAST_WORDS in row.content for row in Memory.objects.filter(source="loci:compact", state="live")
    )


def test_a_verified_fact_stays_and_a_person_is_told(house: House, alice: User) -> None:
    """What a person confirmed does not fall of itself; its lost evidence is put before people as a conflict."""
    said = happen(ALIKE, step=timedelta(days=1))
    cycled()
    Memory.objects.filter(pk=fact().pk).update(trust="verified")
    retract(house.person, next(event for event in said if event.content != fact().content).id)
    assert (fact().trust, fact().state) == ("verified", "live")
    assert Link.objects.filter(kind=LinkKind.CONFLICT, status=LinkStatus.OPEN).exists()


def damage() -> None:
    """Damage all derived data: words, vectors, contexts, pieces."""
    # The pieces of two rows are gone, and the vectors of the others stand for the wrong texts.
    Piece.objects.filter(memory__content=UNRELATED[0]).delete()
    Memory.objects.filter(thread__isnull=False).update(context="what never stood beside it")
    lose_all_words()
    run(f"DELETE FROM {VECTORS} WHERE MOD(piece, 2) = 0")


def test_everything_can_be_rebuilt_from_the_retained_rows(house: House, ledger: Group) -> None:
    """Indexes, contexts, pieces and vectors are rebuilt from the rows, and answer as before."""
    happen(TOMATOES)
    happen(ALIKE, start=LATER, step=timedelta(days=1))
    for at, text in enumerate(UNRELATED):
        kept(
            house.person,
            text,
            group="ledger",
            type="episodic",
            thread="talk",
            valid_from=MONDAY + timedelta(days=at),
        )
    cycled()
    questions = [QUESTION, "Which machine in the office is broken?", ALIKE[0]]
    before, said = whole_state(), [answers(house, question) for question in questions]
    assert all(said)
    damage()
    assert index_faults()
    assert not examine(operator()).is_well
    assert [answers(house, question) for question in questions] != said
    done = repair(operator())
    assert len(done.repairs) >= 3
    assert index_faults() == []
    assert [answers(house, question) for question in questions] == said
    after = whole_state()
    for table in ("memories_memory", "memories_link", "words"):
        assert after[table] == before[table], table
    assert _vectors(after) == _vectors(before)
    assert summary().metadata["events"] == Link.objects.filter(source=summary()).count()


def _vectors(state: dict[str, object]) -> list[tuple[int, int, int]]:
    """Position and model of each memory's pieces; rebuilt pieces get new keys."""
    pieces = state["memories_piece"].values()  # type: ignore[attr-defined]
    return sorted((piece["memory_id"], piece["ordinal"], len(piece["embedding"] or b"")) for piece in pieces)
