"""What came from outside: its text, its label in every answer, its place beside the team's own, and who may say otherwise."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from access.actor import Actor, Via
from access.errors import NotPermitted
from access.models import Group
from access.tokens import actor_for_secret, operator
from memories.draft import Draft, EditDraft
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.lifecycle.merge import merge
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.store import store
from memories.types import Trust
from sources.importing.formats.exports import restore_export
from sources.importing.importer import LineRules
from tests.loci_site.mcp.people import Agent, text_of
from tests.people import make_token, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PAGE = "https://harbour.example/quay"
FACT = "The quay of the harbour opens at eight."


def kept(actor: Actor, text: str, **fields: Any) -> Memory:
    found = store(actor, Draft(text, group="ledger", **fields)).memory
    assert found is not None
    return found


@pytest.fixture
def agent(alice: User, ledger: Group) -> Agent:
    scopes = ("read", "write", "curate")
    return Agent(actor_for_secret(make_token(alice, name="agent", scopes=scopes)[1], via=Via.MCP))


def test_a_page_is_stored_as_text(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), f"<p>{FACT} &amp; closes at five.</p><script>x</script>", source=PAGE)
    assert (memory.content, memory.outside) == (f"{FACT} & closes at five.", True)
    typed = kept(person(alice), "Write <p>&amp;</p> for a paragraph.")
    assert (typed.content, typed.outside) == ("Write <p>&amp;</p> for a paragraph.", False)


def test_every_answer_to_an_agent_labels_it(agent: Agent) -> None:
    memory = kept(agent.actor, FACT, source=PAGE)
    verbs.pin(agent.actor, memory.id)
    for answer in (
        agent.call("recall_memory", query="when does the quay open?", group="ledger"),
        agent.call("memory_inspect", id=str(memory.id)),
        agent.call("get_context", group="ledger", query="quay"),
        agent.call("get_context", group="ledger"),
    ):
        assert "outside" in text_of(answer)


def test_no_agent_makes_it_verified(agent: Agent, alice: User) -> None:
    memory = kept(agent.actor, FACT, source=PAGE)
    with pytest.raises(NotPermitted):
        verbs.verify(agent.actor, memory.id)
    own = kept(person(alice), "The harbour's quay is open from eight in the morning.")
    verbs.verify(person(alice), own.id)
    merge(person(alice), own.id, memory.id)
    memory.refresh_from_db()
    assert (memory.outside, memory.trust) == (True, Trust.ACTIVE)


def test_an_edit_keeps_the_origin(agent: Agent) -> None:
    memory = kept(agent.actor, FACT, source=PAGE)
    assert edit(
        agent.actor, memory.id, EditDraft(content="The quay opens at nine."), reason=""
    ).memory.outside


def test_the_teams_own_stands_first_where_both_say_as_much(alice: User, ledger: Group) -> None:
    ids = {}
    for name, source in (("foreign", PAGE), ("own", "")):
        text = f"The {name} harbour keeper said that the quay opens at eight."
        ids[name] = kept(person(alice), text, source=source, importance=6 if source else 5).id
    found = recall(person(alice), RecallRequest("when does the quay open?", group="ledger"))
    assert [item.memory.id for item in found.items[:2]] == [ids["own"], ids["foreign"]]


def test_an_export_keeps_the_origin(alice: User, ledger: Group, tmp_path: Path) -> None:
    kept(person(alice), FACT, source=PAGE)
    path = tmp_path / "export.jsonl"
    call_command("export", str(path), stdout=io.StringIO())
    text = path.read_text().replace("opens at eight", "opens at nine")
    ids = [
        json.loads(line)["row"]["id"]
        for line in text.splitlines()
        if '"kind":"memory"' in line.replace(" ", "")
    ]
    path.write_text(text.replace(ids[0], f"{1:08x}-0000-7000-8000-000000000001"))
    restore_export(operator(), path, LineRules(""))
    assert Memory.objects.get(content__contains="nine").outside


def test_only_a_curator_may_call_an_export_the_teams_own(tmp_path: Path) -> None:
    with pytest.raises(NotPermitted, match="curator"):
        restore_export(
            Actor("reader", Via.COMMAND, scopes=frozenset({"admin"}), all_groups=True),
            tmp_path,
            LineRules("", as_own=True),
        )
