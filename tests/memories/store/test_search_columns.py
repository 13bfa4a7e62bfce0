"""The context column holds the neighbours that stand beside a memory now, and nothing of those that left; `days` are the text's."""

import pytest
from django.contrib.auth.models import User

from access.errors import Conflict
from access.models import Group
from memories.draft import Draft, EditDraft
from memories.language.dates.named_days import keep_days
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import forget, purge, restore, retract
from memories.models import Memory
from memories.store.bulk import store_many
from memories.store.supersede import replace_memory
from tests.memories.builders import fresh, keep, kept
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

TURNS = ("Apples are ripe.", "Bees are busy.", "Clouds are grey.")


def turn(alice: User, text: str, **fields: object) -> Memory:
    return kept(person(alice), text, group="ledger", type="episodic", thread="walk", **fields)


def contexts() -> list[str]:
    return [m.context for m in Memory.objects.filter(state="live").order_by("position")]


@pytest.fixture
def turns(alice: User, ledger: Group) -> list[Memory]:
    return [turn(alice, text) for text in TURNS]


def test_appended_turns_know_each_other(turns: list[Memory]) -> None:
    assert [m.position for m in turns] == [0, 1, 2]
    assert contexts() == [TURNS[1], f"{TURNS[0]}\n{TURNS[2]}", TURNS[1]]


def test_a_turn_put_in_between_is_seen_from_both_sides(alice: User, ledger: Group) -> None:
    turn(alice, TURNS[0], position=0)
    turn(alice, TURNS[2], position=10)
    turn(alice, TURNS[1], position=5)
    assert contexts() == [TURNS[1], f"{TURNS[0]}\n{TURNS[2]}", TURNS[1]]


@pytest.mark.parametrize("verb", [forget, retract, purge])
def test_what_leaves_is_no_neighbour_any_more(alice: User, turns: list[Memory], verb: object) -> None:
    verb(person(alice), turns[1].id)  # type: ignore[operator]
    assert contexts() == [TURNS[2], TURNS[0]]


def test_what_comes_back_is_a_neighbour_again(alice: User, turns: list[Memory]) -> None:
    forget(person(alice), turns[1].id)
    restore(person(alice), turns[1].id)
    assert contexts() == [TURNS[1], f"{TURNS[0]}\n{TURNS[2]}", TURNS[1]]


def test_superseded_turns_are_no_neighbours(alice: User, turns: list[Memory]) -> None:
    other = kept(person(alice), "Dogs are barking.", group="ledger", type="episodic")
    replace_memory(person(alice), turns[1], other)
    assert fresh(turns[0]).context == TURNS[2]
    assert fresh(turns[2]).context == TURNS[0]


def test_neighbours_of_another_scope_stay_apart(alice: User, turns: list[Memory]) -> None:
    outer = turn(alice, "Dogs are barking.", scope="global")
    assert outer.context == ""
    assert fresh(turns[2]).context == TURNS[1]


def test_tags_come_first_and_long_neighbours_are_cut_to_thirty_words(alice: User, ledger: Group) -> None:
    turn(alice, " ".join(f"w{n}" for n in range(40)))
    second = turn(alice, "Short.", tags=("red", "blue"))
    assert second.context == "red blue\n" + " ".join(f"w{n}" for n in range(30))


def test_a_place_is_taken_once(alice: User, turns: list[Memory]) -> None:
    with pytest.raises(Conflict) as error:
        keep(person(alice), "Dogs.", group="ledger", type="episodic", thread="walk", position=1)
    assert error.value.field == "position"
    assert Memory.objects.count() == 3


def test_every_way_in_reads_the_days_that_a_text_names(alice: User, ledger: Group) -> None:
    first = keep(person(alice), "The fair was yesterday.", group="ledger").memory
    assert first is not None
    edit(person(alice), first.id, EditDraft(content="The fair is on 3 May 2024."))
    store_many(person(alice), [Draft(f"Fair {n} was on {n} May 2023.", group="ledger") for n in (1, 2)])
    rows = Memory.objects.order_by("key")
    assert [row.days for row in rows] == [keep_days(row.content, row.moment) for row in rows]
    assert sorted((row.days or "")[-10:] for row in rows)[:3] == ["2023-05-01", "2023-05-02", "2024-05-03"]
