"""An answer's tokens are the model's, whether counted now or when the text was cut into pieces."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.embedding import Encoder
from memories.models import Memory, Piece
from memories.recall import RecallRequest, budget, recall
from memories.recall.budget import pack
from memories.recall.weights import ITEM_OVERHEAD_TOKENS
from memories.store.pieces import whole_tokens
from tests.memories.builders import kept
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
LONG = " ".join(f"The billing service has port {n}." for n in range(8000, 8100))  # 900 words: several pieces


@pytest.fixture
def several(alice: User, ledger: Group, encoder: Encoder) -> list[Memory]:
    """A fact, an event with its date, a text of a script without spaces, and one of several pieces."""
    budget._TOKEN_COUNTS.clear()
    actor = person(alice)
    day = datetime(2026, 3, 1, tzinfo=UTC)
    return [
        kept(actor, "The billing service's port is 8081 (HTTP/2).", group="ledger", scope="group"),
        kept(actor, "The port moved.", type="episodic", valid_from=day, group="ledger", scope="group"),
        kept(actor, "计费服务的端口是 8081。", group="ledger", scope="group"),
        kept(actor, LONG, group="ledger", scope="group"),
    ]


def test_a_text_of_one_piece_was_counted_when_it_was_cut(several: list[Memory], encoder: Encoder) -> None:
    known = whole_tokens([memory.key for memory in several], encoder.model_id)
    assert known == {memory.key: encoder.count_tokens(memory.content) for memory in several[:3]}
    assert Piece.objects.filter(memory=several[3]).count() > 1
    assert whole_tokens([several[0].key], "another model") == {}
    assert whole_tokens([], encoder.model_id) == {}


def test_a_portion_has_the_tokens_of_its_text(several: list[Memory], encoder: Encoder) -> None:
    for _ in ("looked up or counted", "known from before"):
        portions, left_out = pack(several, token_budget=10_000, encoder=encoder, summary_only=False)
        assert left_out == []
        assert [p.tokens for p in portions] == [
            encoder.count_tokens(memory.content) + ITEM_OVERHEAD_TOKENS for memory in several
        ]


def test_an_answer_tells_what_its_texts_take(several: list[Memory], alice: User, encoder: Encoder) -> None:
    found = recall(person(alice), RecallRequest("which port has the billing service?", group="ledger"))
    assert {item.memory.key for item in found.items} >= {several[0].key, several[3].key}
    assert found.tokens == sum(encoder.count_tokens(item.text) + ITEM_OVERHEAD_TOKENS for item in found.items)


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
