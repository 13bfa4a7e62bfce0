"""Sources that change again: back to an earlier text, after a person's edit, and after a wording was kept elsewhere."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from access.actor import Actor
from access.models import Group
from memories.draft import Draft, EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import approve, forget, merge
from memories.models import Memory
from memories.store import store
from memories.store.bulk import store_many
from tests.memories.builders import fresh, kept
from tests.people import agent, person

pytestmark = pytest.mark.django_db
THREE, FIVE, SEVEN = (f"The gateway has {n} workers." for n in ("three", "five", "seven"))
PAGE = {"source": "wiki", "source_ref": "page-1", "group": "ledger"}


def one_by_one(actor: Actor, text: str) -> str:
    return store(actor, Draft(text, **PAGE)).outcome  # type: ignore[arg-type]


def in_bulk(actor: Actor, text: str) -> str:
    return store_many(actor, [Draft(text, **PAGE)]).outcomes[0]  # type: ignore[arg-type]


both_ways = pytest.mark.parametrize("say", [one_by_one, in_bulk])
Say = Callable[[Actor, str], str]


def live() -> list[str]:
    return [*Memory.objects.filter(state="live").order_by("key").values_list("content", flat=True)]


@both_ways
def test_a_source_that_goes_back_is_followed(alice: User, ledger: Group, say: Say) -> None:
    said = [say(person(alice), text) for text in (THREE, FIVE, THREE, THREE, FIVE)]
    assert said == ["created", "created", "created", "unchanged", "created"]
    assert live() == [FIVE]
    assert [*Memory.objects.order_by("key").values_list("version", flat=True)] == [1, 2, 3, 4]


def test_files_that_go_back_are_followed(alice: User, ledger: Group, tmp_path: Path) -> None:
    lines, notes = tmp_path / "a.jsonl", tmp_path / "notes"
    notes.mkdir()
    for text in (THREE, FIVE, THREE):
        lines.write_text(f'{{"id": "1", "text": "{text}", "group": "ledger", "type": "semantic"}}\n')
        (notes / "gateway.md").write_text(f"# Gateway\n\nIn the cellar, {text}\n")
        call_command("import", str(lines), format="lines", group="ledger")
        call_command("import", str(notes), group="ledger")
        assert [each.removeprefix("In the cellar, ")[-len(text) :] for each in live()] == [text, text]


@both_ways
def test_a_persons_edit_stays_until_the_source_changes(alice: User, ledger: Group, say: Say) -> None:
    say(person(alice), THREE)
    say(person(alice), FIVE)
    edit(person(alice), Memory.objects.get(state="live").id, EditDraft(content=SEVEN))
    assert say(agent(alice), FIVE) == "unchanged"
    assert say(agent(alice), THREE) == "queued"
    assert say(agent(alice), THREE) == "unchanged"
    assert Memory.objects.get(state="live", trust="active").content == SEVEN
    approve(person(alice), Memory.objects.get(trust="candidate").id)
    assert live() == [THREE]


@both_ways
@pytest.mark.parametrize("by_merge", [False, True])
def test_the_next_text_after_a_kept_wording_starts_a_chain(
    alice: User, ledger: Group, say: Say, by_merge: bool
) -> None:
    held = kept(person(alice), THREE if not by_merge else SEVEN, group="ledger")
    first = say(person(alice), THREE)
    if by_merge:
        merge(person(alice), Memory.objects.get(content=THREE).id, held.id)
    assert first == ("created" if by_merge else "reinforced")
    wording = Memory.objects.get(state="merged")
    assert say(person(alice), THREE) == "unchanged"

    assert say(person(alice), FIVE) == "created"
    five = Memory.objects.get(content=FIVE)
    assert (five.root_id, five.version, five.source_ref) == (None, 1, "page-1")
    assert (fresh(wording).source_ref, fresh(wording).superseded_by_id) == ("", held.key)
    assert say(person(alice), FIVE) == "unchanged"

    forget(person(alice), held.id)
    assert fresh(five).state == "live"
    assert say(person(alice), SEVEN + "!") in ("created", "reinforced")
    assert Memory.objects.get(source_ref="page-1") == five


def test_a_second_kept_wording_takes_the_source_along(alice: User, ledger: Group) -> None:
    three, five = kept(person(alice), THREE, group="ledger"), kept(person(alice), FIVE, group="ledger")
    assert [in_bulk(person(alice), text) for text in (THREE, FIVE, SEVEN)] == ["reinforced", "reinforced", "created"]  # fmt: skip
    wordings = Memory.objects.filter(state="merged").order_by("key")
    assert [(row.root_id, row.superseded_by_id, row.source_ref) for row in wordings] == [
        (None, three.key, ""),
        (None, five.key, ""),
    ]
    assert Memory.objects.get(source_ref="page-1").content == SEVEN
