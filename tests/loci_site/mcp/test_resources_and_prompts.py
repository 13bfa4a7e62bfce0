"""Resources and prompts: with the rights of the tools, and with text that fits the moment."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from access.actor import WRITE
from access.models import Group
from tests.loci_site.mcp.people import Agent, make_agent

pytestmark = pytest.mark.django_db
PROMPTS = ["start_session", "before_decision", "end_session", "correct_fact"]


def read(agent: Agent, uri: str) -> str:
    async def work(client: Client) -> str:
        (content,) = (await client.read_resource(uri)).contents
        return content.text  # type: ignore[union-attr]

    text: str = agent.use(work)
    return text


def refused(agent: Agent, uri: str) -> tuple[int, str]:
    async def work(client: Client) -> tuple[int, str]:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        return caught.value.code, caught.value.message

    code, message = agent.use(work)
    return code, message


def prompt(agent: Agent, name: str, **arguments: str) -> str:
    async def work(client: Client) -> str:
        (message,) = (await client.get_prompt(name, arguments)).messages
        return message.content.text  # type: ignore[union-attr]

    text: str = agent.use(work)
    return text


def completed(agent: Agent, start: str, *, ref: Any = None) -> list[str]:
    target = ref or ResourceTemplateReference(type="ref/resource", uri="loci://groups/{slug}/context")
    name = "slug" if ref is None else "group"

    async def work(client: Client) -> list[str]:
        return (await client.complete(target, {"name": name, "value": start})).completion.values

    values: list[str] = agent.use(work)
    return values


def uris(agent: Agent) -> list[str]:
    async def work(client: Client) -> list[str]:
        return [str(resource.uri) for resource in (await client.list_resources()).resources]

    found: list[str] = agent.use(work)
    return found


@pytest.fixture
def stored(alice: Agent) -> str:
    """A memory in the group of Alice and Bob."""
    fact = alice.answer("store_memory", content="Invoices go out on Mondays.", scope="group", source="wiki")
    return str(fact["id"])


def test_a_memory_comes_between_its_marks(bob: Agent, stored: str) -> None:
    first, text, last = read(bob, f"loci://memories/{stored}").splitlines()
    assert f"id={stored[-8:]} " in first
    assert "source=wiki" in first
    assert (text, last) == ("Invoices go out on Mondays.", "</memory>")


def test_an_old_versions_address_leads_to_what_counts(alice: Agent, stored: str) -> None:
    new = alice.answer("store_memory", content="Invoices go out on Fridays.", supersedes=stored)
    assert f"id={new['id'][-8:]} " in read(alice, f"loci://memories/{stored}")


def test_a_stranger_reads_no_memory(charlie: Agent, stored: str) -> None:
    code, message = refused(charlie, f"loci://memories/{stored}")
    assert code == -32602
    assert "Memory not found, or you don't have access" in message


def test_what_recall_leaves_out_is_not_handed_out(alice: Agent, stored: str) -> None:
    same = "**invoices go out on mondays**"
    twin = alice.answer("store_memory", content=same, scope="group", type="procedural")["id"]
    alice.answer("forget_memory", id=stored, verb="retract")
    assert "recall leaves it out" in refused(alice, f"loci://memories/{twin}")[1]


def test_what_is_forgotten_is_not_handed_out(alice: Agent, stored: str) -> None:
    alice.answer("forget_memory", id=stored)
    code, message = refused(alice, f"loci://memories/{stored}")
    assert (code, message.startswith("The memory is forgotten")) == (-32602, True)


def test_an_address_that_is_none_says_so(alice: Agent) -> None:
    assert "'17' is not a memory id." in refused(alice, "loci://memories/17")[1]
    assert refused(alice, "loci://nothing/here")[0] == -32602


def test_the_pack_of_a_group_is_listed_and_read(alice: Agent, bob: Agent, stored: str) -> None:
    assert uris(alice) == ["loci://groups/ledger/context", "loci://groups/payroll/context"]
    assert uris(bob) == ["loci://groups/ledger/context"]
    assert "Invoices go out on Mondays." in read(bob, "loci://groups/ledger/context")
    assert "Nothing is stored yet in 'payroll'." in read(bob, "loci://groups/payroll/context")


def test_groups_complete_to_those_that_one_may_read(alice: Agent, bob: Agent, charlie: Agent) -> None:
    assert completed(alice, "") == ["ledger", "payroll"]
    assert completed(alice, "PAY") == ["payroll"]
    assert completed(bob, "") == ["ledger"]
    assert completed(charlie, "") == []
    assert completed(bob, "le", ref=PromptReference(type="ref/prompt", name="end_session")) == ["ledger"]


def test_who_may_not_read_is_shown_nothing(users: dict[str, User], groups: dict[str, Group]) -> None:
    async def work(client: Client) -> tuple[int, int, int]:
        return (
            len((await client.list_resources()).resources),
            len((await client.list_resource_templates()).resource_templates),
            len((await client.list_prompts()).prompts),
        )

    writer = make_agent(users["alice"], WRITE)
    assert writer.use(work) == (0, 0, 0)
    assert completed(writer, "") == []


def test_the_prompts_are_described(alice: Agent) -> None:
    async def work(client: Client) -> list[tuple[str, bool]]:
        return [(p.name, bool(p.description)) for p in (await client.list_prompts()).prompts]

    assert alice.use(work) == [(name, True) for name in PROMPTS]


def test_a_session_starts_with_what_is_remembered(bob: Agent, stored: str) -> None:
    text = prompt(bob, "start_session", task="bill the customers")
    assert text.startswith("The task of this session: bill the customers")
    assert "Invoices go out on Mondays." in text


def test_the_other_prompts_say_which_tools_to_use(alice: Agent) -> None:
    assert "recall_memory" in prompt(alice, "before_decision", decision="which queue?", group="ledger")
    assert "checkpoint" in prompt(alice, "end_session")
    assert "Correct is: Friday" in prompt(alice, "correct_fact", wrong="Monday", right="Friday")


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("start_session", {"group": "No Slug"}, "'No Slug' is not a valid group name."),
        ("before_decision", {}, "decision"),
        ("nothing", {}, "Unknown prompt: nothing"),
    ],
)
def test_a_prompt_that_cannot_be_written_says_why(
    bob: Agent, name: str, arguments: dict[str, str], expected: str
) -> None:
    async def work(client: Client) -> str:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
        return caught.value.message

    assert expected in bob.use(work)
