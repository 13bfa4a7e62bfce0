"""An answer's tokens are the model's, whether counted now or when the text was cut into pieces."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.embedding import Encoder
from memories.lifecycle.verbs import dispute
from memories.models import Memory, Piece
from memories.queries.quoting import fence
from memories.recall import RecallRequest, budget, recall
from memories.recall.budget import Notes, count_tokens, cut_text, pack
from memories.store.pieces import whole_tokens
from tests.memories.builders import kept
from tests.people import agent, person, the_group, the_owner

pytestmark = [pytest.mark.django_db, pytest.mark.model]
QUESTION = "which port has the billing service?"
LONG = " ".join(f"The billing service has port {n}." for n in range(8000, 8100))  # 900 words: several pieces


@pytest.fixture(scope="module")
def stored(shared_rows: None, encoder: Encoder) -> list[Memory]:
    """A fact, an event with its date, a text of a script without spaces, and one of several pieces."""
    the_group("ledger")
    actor = person(the_owner())
    day = datetime(2026, 3, 1, tzinfo=UTC)
    return [
        kept(actor, "The billing service's port is 8081 (HTTP/2).", group="ledger", scope="group"),
        kept(actor, "The port moved.", type="episodic", valid_from=day, group="ledger", scope="group"),
        kept(actor, "计费服务的端口是 8081。", group="ledger", scope="group"),
        kept(actor, LONG, group="ledger", scope="group"),
    ]


@pytest.fixture
def several(stored: list[Memory]) -> list[Memory]:
    """The stored ones, in a process that has counted none of their tokens."""
    budget._TOKEN_COUNTS.clear()
    return stored


@pytest.fixture(scope="module")
def more_stored(stored: list[Memory]) -> list[Memory]:
    """Beside the stored ones: memories with marks in them, a long source, tags and a warning."""
    actor = person(the_owner())
    more = [
        kept(
            actor,
            f"The billing service </memory> {n} has a port.",
            group="ledger",
            source="https://x.y/" + "z" * 80,
        )
        for n in range(5)
    ]
    dispute(actor, more[0].id)
    return stored + more


@pytest.fixture
def dressed(several: list[Memory], more_stored: list[Memory]) -> list[Memory]:
    """All of them."""
    return more_stored


def test_a_text_of_one_piece_was_counted_when_it_was_cut(several: list[Memory], encoder: Encoder) -> None:
    known = whole_tokens([memory.key for memory in several], encoder.model_id)
    assert known == {memory.key: encoder.count_tokens(memory.content) for memory in several[:3]}
    assert Piece.objects.filter(memory=several[3]).count() > 1
    assert whole_tokens([several[0].key], "another model") == {}
    assert whole_tokens([], encoder.model_id) == {}


def test_a_portion_has_the_tokens_of_its_text(several: list[Memory], encoder: Encoder) -> None:
    for _ in ("looked up or counted", "known from before"):
        show = Notes("ledger").show
        portions, left_out = pack(several, token_budget=10_000, encoder=encoder, show=show)
        assert left_out == []
        assert [p.tokens for p in portions] == [
            encoder.count_tokens(fence(memory, memory.content, group="ledger")) for memory in several
        ]


def test_an_answer_tells_what_its_texts_take(several: list[Memory], alice: User, encoder: Encoder) -> None:
    found = recall(person(alice), RecallRequest("which port has the billing service?", group="ledger"))
    assert {item.memory.key for item in found.items} >= {several[0].key, several[3].key}
    assert found.tokens == encoder.count_tokens(found.show())


def test_marks_cost_at_most_thirty_tokens(alice: User, ledger: Group, encoder: Encoder) -> None:
    actor = agent(alice, name="helper")
    for number in range(40):
        memory = kept(actor, f"Dock {number} is free.", group="ledger", type="procedural")
        marks = encoder.count_tokens(fence(memory, "", group="ledger"))
        assert marks <= 30, fence(memory, "")


@pytest.mark.parametrize("counted", ["model", "characters"])
@pytest.mark.parametrize("budget", [50, 80, 200, 400, 800, 2000])
@pytest.mark.parametrize(
    ("query", "summary_only"), [(QUESTION, False), (QUESTION, True), ("who is Zorba?", False)]
)
def test_an_answer_keeps_to_its_budget(
    dressed: list[Memory], alice: User, encoder: Encoder, settings: Any,
    query: str, summary_only: bool, budget: int, counted: str,
) -> None:  # fmt: skip
    retrieval = replace(settings.LOCI.retrieval, tokens=counted)
    settings.LOCI = replace(settings.LOCI, retrieval=retrieval)
    counting = encoder if counted == "model" else None
    for asked in (
        RecallRequest(query, group="ledger", token_budget=budget, summary_only=summary_only),
        RecallRequest(ids=[m.id for m in dressed], token_budget=budget, summary_only=summary_only),
    ):
        found = recall(person(alice), asked)
        text = found.show()
        assert count_tokens(text, counting) <= budget * 1.02, text
        assert found.left_out + len(found.items) + len(found.nearest) > 0


def test_ids_are_read_whole_unless_a_budget_is_given(several: list[Memory], alice: User) -> None:
    ids = (several[3].id, several[0].id)
    whole = recall(person(alice), RecallRequest(ids=ids))
    assert [(item.text, item.is_cut) for item in whole.items] == [
        (LONG, False), (several[0].content, False),
    ]  # fmt: skip
    some = recall(person(alice), RecallRequest(ids=ids, token_budget=200))
    assert some.items[0].is_cut
    assert some.items[0].text.endswith(". …")
    assert "raise token_budget to read all of them" in some.show()
    short = recall(person(alice), RecallRequest(ids=ids, summary_only=True))
    assert [len(item.text.split()) for item in short.items] == [31, 7]


@pytest.mark.parametrize(
    ("text", "tokens", "cut"),
    [
        ("One two. Three four. Five six seven.", 7, "One two. Three four. …"),
        ("One two three four five six seven.", 4, "One two three …"),
        ("first line\nsecond line is longer", 4, "first line …"),
        ("One", 0, ""),
    ],
)
def test_a_text_is_cut_at_a_sentence(encoder: Encoder, text: str, tokens: int, cut: str) -> None:
    assert cut_text(text, tokens, encoder) == cut


def test_a_question_that_the_model_cannot_read_brings_no_texts_without_its_words(
    alice: User, ledger: Group, encoder: Encoder
) -> None:
    """To letters that it does not know, the model finds any text near."""
    actor = person(alice)
    wanted = kept(actor, "上海的办公室在五楼。", group="ledger", scope="group")
    for number in range(12):
        kept(actor, f"Shelf {number} holds lamps, ropes and {number} old charts of the bay.", group="ledger")
    assert [item.memory.key for item in recall(actor, RecallRequest("上海", group="ledger")).items] == [
        wanted.key
    ]
