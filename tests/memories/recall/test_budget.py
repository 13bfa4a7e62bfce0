"""An answer's tokens are the model's, whether counted now or when the text was cut into pieces."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.embedding import Encoder
from memories.lifecycle.verbs import dispute
from memories.models import Memory, Piece
from memories.queries.quoting import escape, fence
from memories.recall import RecallRequest, budget, recall
from memories.recall.budget import Notes, count_each, count_tokens, cut_text, pack
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


@pytest.mark.parametrize(
    "unit", ["deploy the port ", "部署端口 ", "a, ", "wörter und sätze ", "x\n", "</memory> "]
)
@pytest.mark.parametrize("tokens", [40, 2_000])
def test_the_beginning_of_a_long_text_is_found_in_few_counts(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch, unit: str, tokens: int
) -> None:
    read = list[int]()

    def counted(texts: Sequence[str], counting: Encoder | None) -> list[int]:
        read.extend(map(len, texts))
        return count_each(texts, counting)

    monkeypatch.setattr(budget, "count_each", counted)
    text = unit * (90_000 // len(unit))
    cut = cut_text(text, tokens, encoder)
    assert len(read) <= 8
    assert max(read) < len(text)
    # What follows the last sentence's end was cut again.
    end = tokens // 2 if budget._SENTENCE_END.search(text) else int(0.9 * tokens)
    assert end <= count_tokens(escape(cut), encoder) <= tokens


def test_a_word_that_the_model_does_not_read_counts_by_its_letters(encoder: Encoder) -> None:
    word = "a" * 90_000
    assert encoder.count_tokens(word) == 1
    assert 22_500 <= count_tokens(word, encoder) <= 22_501
    assert count_tokens(f"The key is {'b' * 100}.", encoder) == encoder.count_tokens(
        f"The key is {'b' * 100}."
    )
    assert count_tokens("端" * 200, encoder) == encoder.count_tokens("端" * 200)  # read one by one
    assert count_tokens(cut_text(word, 100, encoder), encoder) <= 100


def test_an_answer_with_such_words_keeps_to_its_budget(alice: User, ledger: Group, encoder: Encoder) -> None:
    for letter in "abc":
        kept(person(alice), f"The lighthouse key is {letter * 20_000}", group="ledger", scope="group")
    found = recall(person(alice), RecallRequest("Which lighthouse key?", group="ledger", token_budget=1_000))
    assert found.items
    assert len(found.show()) < 6_000


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
