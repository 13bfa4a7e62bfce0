"""A withdrawn text is refused with its place wherever no curator would be asked about it."""

import json
from typing import Any

import pytest

from memories.models import Memory
from relations.models import Relation
from tests.acceptance.house import House
from tests.memories.builders import kept
from tests.people import the_group, the_owner

pytestmark = [pytest.mark.django_db, pytest.mark.model]

TEXT = "The boathouse key hangs behind the tide table"
DRESSED = f"**{TEXT}!**"


@pytest.fixture(scope="module")
def told(shared_rows: None, encoder: object) -> House:
    """A house in which the text was withdrawn."""
    the_group("ledger")
    house = House.of(the_owner())
    memory = kept(house.person, TEXT, group="ledger", scope="group")
    send(house, f"/memories/{memory.id}/retract", reason="it hangs elsewhere")
    return house


def send(house: House, path: str, expect: int = 200, method: str = "post", **body: Any) -> Any:
    status, text = house.rest(method, path, body)
    assert status == expect, text
    return json.loads(text)


def refusal(house: House, path: str, field: str, place: str = "", **body: Any) -> None:
    refused = send(house, path, 409, **body)
    assert refused["field"] == field
    assert f"'{place or field}' repeats a withdrawn text" in refused["message"]


@pytest.mark.parametrize("text", [TEXT, DRESSED, TEXT.replace(" ", "_")])
@pytest.mark.parametrize("field", ["subject", "predicate", "object"])
def test_a_relation_does_not_say_it(told: House, field: str, text: str) -> None:
    body = {"subject": "Boathouse", "predicate": "is at", "object": "Lake", "group": "ledger"} | {field: text}
    refusal(told, "/relations", field, **body)
    assert not Relation.objects.exists()
    assert not Memory.objects.filter(state="live").exists()


def test_both_ends_and_the_predicate_together_do_not_say_it(told: House) -> None:
    subject, object_ = TEXT.split(" hangs behind ")
    body = {"subject": subject, "predicate": "hangs_behind", "object": object_, "group": "ledger"}
    refusal(told, "/relations", "predicate", **body)
    assert not Relation.objects.exists()
    assert not Memory.objects.filter(state="live").exists()


def test_a_relation_beside_it_is_stored(told: House) -> None:
    send(told, "/relations", 201, subject="Boathouse", predicate="is at", object="Lake", group="ledger")


STATES: dict[str, tuple[Any, str]] = {
    "paragraphs": (f"<p>{TEXT}</p><p>hello</p>", "text"),
    "a line break": (f"hello<br/>{TEXT}", "text"),
    "JSON in a string": ({"saved": json.dumps({"k": TEXT})}, "saved.k"),
    "JSON in JSON": ({"saved": json.dumps([json.dumps({"k": [TEXT]})])}, "saved[0].k[0]"),
    "after a semicolon": ({"done": f"done; {TEXT}"}, "done"),
    "before a semicolon": ({"done": f"{TEXT}; then tea"}, "done"),
    "a label": ({"next": f"Open: {TEXT}"}, "next"),
    "two labels": ({"next": f"Open: note: {TEXT}. Then tea."}, "next"),
    "a table": ({"next": f"| {DRESSED} | yes |"}, "next"),
    "a line end": ({"next": f"Tea\u2028{TEXT}\u2028milk"}, "next"),
}


@pytest.mark.parametrize("dressing", STATES)
def test_a_checkpoint_does_not_say_it(told: House, dressing: str) -> None:
    state, place = STATES[dressing]
    refused = send(told, "/checkpoints", 409, group="ledger", state=state)
    assert "repeats a withdrawn text" in refused["message"]
    assert place in refused["message"]


def test_a_checkpoint_about_other_things_is_saved(told: House) -> None:
    state = {
        "next": "Open: ask about the tide table; then tea.",
        "saved": '{"k": "<b>milk</b>"}',
        "odd": "{]",
    }
    send(told, "/checkpoints", 201, group="ledger", state=state)


LABELS: dict[str, tuple[dict[str, Any], str]] = {
    "metadata": ({"metadata": {"notes": ["tea", TEXT.upper()]}}, "metadata.notes[1]"),
    "source": ({"source": TEXT}, "source"),
    "source_ref": ({"source": "log", "source_ref": TEXT}, "source_ref"),
    "tags": ({"tags": ["tea", TEXT]}, "tags[1]"),
    "anchor_commit": ({"anchor_commit": TEXT}, "anchor_commit"),
}


@pytest.mark.parametrize("field", LABELS)
def test_a_field_beside_the_text_does_not_say_it(told: House, field: str) -> None:
    values, place = LABELS[field]
    refusal(told, "/memories", field, place, content="Tea is at four.", group="ledger", **values)
    assert not Memory.objects.filter(state="live").exists()


@pytest.mark.parametrize("field", ["metadata", "tags"])
def test_an_edit_does_not_say_it_beside_the_text(told: House, field: str) -> None:
    memory = kept(told.person, "Tea is at four.", group="ledger", scope="group")
    values, place = LABELS[field]
    refused = send(told, f"/memories/{memory.id}", 409, method="patch", **values)
    assert f"'{place}' repeats a withdrawn text" in refused["message"]


@pytest.mark.parametrize("verb", ["forget", "retract", "dispute"])
def test_a_reason_does_not_say_it(told: House, verb: str) -> None:
    memory = kept(told.person, "Tea is at four.", group="ledger", scope="group")
    refusal(told, f"/memories/{memory.id}/{verb}", "reason", reason=TEXT)
    send(told, f"/memories/{memory.id}/{verb}", reason=f"It says something else than: {TEXT[:20]}")


def test_a_word_that_was_withdrawn_may_still_be_a_tag(told: House) -> None:
    memory = kept(told.person, "deploy", group="ledger", type="entity", scope="group")
    send(told, f"/memories/{memory.id}/retract", reason="no name")
    send(told, "/memories", 201, content="Tea is at four.", group="ledger", tags=["deploy"])
