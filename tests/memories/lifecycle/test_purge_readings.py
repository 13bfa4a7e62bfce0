"""After a purge no stored column says the text in any reading, or the certificate names it."""

import json
import unicodedata
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from access.groups import GroupChange, update_group
from access.models import Group
from memories.language.dress.quotes import Quotes
from memories.lifecycle.verbs import purge
from memories.models import Checkpoint, Memory
from memories.sessions.checkpoints import save_checkpoint
from memories.store.places import PurgedTexts, all_places
from sources.artifacts.ingest import ingest_content
from sources.models import Artifact, ChunkProof
from storage.dialect import dialect
from tests.memories.builders import kept
from tests.memories.tables import text_columns
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
GATE = 'Das Tor "Süd" öffnet der Müller\nmit dem Schlüssel Nußkern zwölf.'
OTHER = "The queue holds ten jobs."
PLAIN = "The south door of the mill opens\nwith the brass key number twelve."


def nested(text: str, levels: Iterable[tuple[bool, bool]]) -> str:
    """A text in strings of JSON: one for each level, with other letters escaped or not, in an object or a list."""
    for is_ascii, is_object in levels:
        held: Any = {"note": text, "n": 1} if is_object else [text]
        text = json.dumps(held, ensure_ascii=is_ascii)
    return text


def saying(text: str) -> set[tuple[str, str]]:
    """The tables and columns that say a text, read by this test alone."""
    quotes = Quotes([text])
    return {
        (model._meta.db_table, column)
        for model, column in text_columns()
        for value in model._base_manager.values_list(column, flat=True)
        if quotes.are_in(bytes(value).decode(errors="replace") if isinstance(value, memoryview | bytes) else value)
    }  # fmt: skip


@pytest.mark.parametrize("text", [GATE, PLAIN])
def test_json_in_a_string_of_a_checkpoint_loses_the_text_and_stays_json(
    alice: User, ledger: Group, text: str
) -> None:
    memory = kept(agent(alice), text, group="ledger")
    save_checkpoint(
        agent(alice), group="ledger", thread="nest", state={"done": json.dumps({"note": text, "n": 1})}
    )
    certificate = purge(person(alice), memory.id).certificate
    assert certificate is not None
    assert certificate.remains == dialect().purge_leaves
    assert json.loads(Checkpoint.objects.get().state["done"]) == {"note": "[purged]", "n": 1}
    assert saying(text) == set()


@pytest.mark.parametrize("text", [GATE, PLAIN])
def test_no_column_says_a_purged_text_unless_the_certificate_names_it(
    alice: User, ledger: Group, text: str
) -> None:
    memory, other = kept(agent(alice), text, group="ledger"), kept(agent(alice), OTHER, group="ledger")
    dresses = [
        dress for levels in range(4) for dress in product(product((True, False), repeat=2), repeat=levels)
    ]
    values = [nested(f"so: {text}", levels) for levels in dresses]
    Checkpoint.objects.bulk_create(Checkpoint(group=ledger, state={"done": [value]}) for value in values)
    Memory.objects.filter(key=other.key).update(metadata={"k": values[-1]})
    Group.objects.filter(pk=ledger.pk).update(instructions=f"Mind {values[-1]}", title=values[0])
    certificate = purge(person(alice), memory.id).certificate
    assert certificate is not None
    assert certificate.cleared["checkpoints"] == len(values)
    assert saying(text) == {("memories_memory", "metadata")}
    assert [line for line in certificate.remains if line == f"1 other memories quote it: {other.id}"]
    Memory.objects.filter(key=other.key).update(metadata={})
    assert saying(text) == set()
    for (state,), levels in zip(
        Checkpoint.objects.order_by("key").values_list("state"), dresses, strict=True
    ):
        said = state["done"][0]
        for _, is_object in reversed(levels):
            said = json.loads(said)["note" if is_object else 0]
        assert said == "so: [purged]"


def test_every_column_that_takes_a_text_is_a_place(alice: User, bob: User, ledger: Group) -> None:
    text = "the launch code of heronry is eight"
    memory = kept(person(alice), text, group="ledger")
    kept(person(alice), "Deploys of heron need the new commit.", group="ledger", anchor_commit=text)
    path = f"notes/{text}.md"
    ingest_content(person(alice), [(path, b"# Heron\n\nnothing here")], group="ledger", source=f"src {text}")
    ChunkProof.objects.create(memory=Memory.objects.get(key=memory.key), locator=f"{path}#L1@abc")
    update_group(person(alice), "ledger", GroupChange(guard=f"word={text}, personal=mask"))
    asked = {
        (place.model._meta.db_table, column) for place in all_places().values() for column in place.columns
    }
    assert saying(text) - asked - {("sources_chunk", "forms"), ("memories_memory", "forms")} == set()
    certificate = purge(person(alice), memory.id).certificate
    assert certificate is not None
    assert not Artifact.objects.exists()
    ledger.refresh_from_db()
    assert ledger.guard == "personal=mask"
    named = {
        ("memories_memory", "anchor_commit"): "other memories quote it",
        ("memory_log", "subject"): "rows of the audit log name it",
        ("memory_log_payload", "payload"): "rows of the audit log quote it",
    }
    assert saying(text) == set(named)
    assert [line for line in named.values() if not any(line in each for each in certificate.remains)] == []


@pytest.mark.parametrize(
    "dress",
    [
        pytest.param(lambda text: text.replace("brass", "<i>brass</i>"), id="tag"),
        pytest.param(lambda text: text.replace("brass", "[brass](https://example.org)"), id="link"),
        pytest.param(quote, id="address"),
        pytest.param(lambda text: text.replace("e", "&#101;"), id="letters of HTML"),
    ],
)
def test_markup_and_addresses_hide_no_text_from_a_purge(
    alice: User, ledger: Group, dress: Callable[[str], str]
) -> None:
    text = "The south door of the mill opens with the brass key."
    memory = kept(agent(alice), text, group="ledger")
    other = kept(agent(alice), OTHER, group="ledger", source=f"https://example.org/?q={dress(text)}"[:200])
    Checkpoint.objects.create(group=ledger, state={"done": f"so: {dress(text)}"})
    certificate = purge(person(alice), memory.id).certificate
    assert certificate is not None
    assert "[purged]" in Checkpoint.objects.get().state["done"]
    assert f"1 other memories quote it: {other.id}" in certificate.remains


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKD"])
def test_decomposed_letters_are_blanked_and_counted(alice: User, ledger: Group, form: str) -> None:
    text = "Der Müller öffnet das Tor am Hügel täglich."
    said = f"So: {unicodedata.normalize(form, text).upper()}"
    memory = kept(agent(alice), text, group="ledger")
    Checkpoint.objects.create(group=ledger, state={"done": said})
    Group.objects.filter(pk=ledger.pk).update(instructions=said)
    certificate = purge(person(alice), memory.id).certificate
    assert certificate is not None
    assert (certificate.cleared["checkpoints"], certificate.cleared["instructions"]) == (1, 1)
    assert certificate.remains == dialect().purge_leaves
    assert (
        Checkpoint.objects.get().state["done"]
        == Group.objects.get(pk=ledger.pk).instructions
        == "So: [purged]"
    )


def test_what_cannot_be_blanked_is_not_counted(alice: User, ledger: Group) -> None:
    replaced = kept(agent(alice), "Purged", group="ledger")  # the same word as the replacement [purged]
    over_rules = kept(agent(alice), "word heron, word eight", group="ledger")  # no rule by itself quotes it
    save_checkpoint(agent(alice), group="ledger", thread="purged", state={"done": "so: purged"})
    update_group(person(alice), "ledger", GroupChange(guard="word=heron, word=eight"))
    found = {
        place.name for place in all_places().values() for memory in (replaced, over_rules)
        if place.find(PurgedTexts((memory.key,), (memory.content,)))
    }  # fmt: skip
    assert found >= {"checkpoints", "thread names", "guard rules"}
    for memory in (replaced, over_rules):
        certificate = purge(person(alice), memory.id).certificate
        assert certificate is not None
        assert not certificate.cleared.keys() & {"checkpoints", "thread names", "guard rules"}
        assert len(certificate.remains) > len(dialect().purge_leaves)
