"""A `.locus` file that was taken from a conversation leads to it, and is not a conversation itself."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from access.models import Group
from access.tokens import operator
from memories.models import Memory, Thread
from memories.sessions.conversations import find_by_address
from sources.captures.keep import SentConversation, SentTurn, keep_conversations
from sources.importing import choose_importer
from sources.importing.importer import LineRules
from sources.sharing import export_as
from tests.loci_site.admin.conftest import browser_of
from tests.people import agent, person

NAME, ADDRESS = (
    "0197aaaa-1111-7000-8000-000000000001",
    "https://claude.ai/chat/0197aaaa-1111-7000-8000-000000000001",
)
FILE = '---\nid: locus-20260501-kafka\ncreated: 2026-05-01T10:00:00+00:00\nroom: ledger\ntype: semantic\nsource_conversation: "{}"\n---\n# Orders\n\nOrders go through SQS.\n'
pytestmark = pytest.mark.django_db


def take_in(folder: Path, address: str) -> Memory:
    """Import a file that names this conversation."""
    file = folder / "a.locus"
    file.write_text(FILE.format(address))
    choose_importer(file).run(operator(), file, LineRules("locus"))
    return Memory.objects.get(source_ref="locus-20260501-kafka")


def capture(alice: User) -> Thread:
    sent = SentConversation(
        "claude.ai", NAME, (SentTurn("1", "user", "Kafka or SQS?"),), title="Order queue", url=ADDRESS
    )
    keep_conversations(agent(alice, name="browser", scopes=("read", "capture")), [sent])
    return Thread.objects.get()


def test_it_makes_no_conversation_and_comes_out_as_it_was(ledger: Group, tmp_path: Path) -> None:
    assert take_in(tmp_path, ADDRESS).metadata == {"source_conversation": ADDRESS}
    assert not Thread.objects.exists()
    export_as(operator(), "locus", tmp_path / "out", groups=["ledger"])
    [written] = (tmp_path / "out").rglob("*.locus")
    assert written.read_text() == FILE.format(ADDRESS)


@pytest.mark.parametrize("spelt", [ADDRESS, f"{ADDRESS}/", f"http://www.claude.ai/chat/{NAME}?model=x#end"])
def test_its_page_leads_to_the_captured_conversation(
    alice: User, ledger: Group, tmp_path: Path, spelt: str
) -> None:
    thread, memory = capture(alice), take_in(tmp_path, spelt)
    assert memory.thread is None
    page = browser_of(alice).get(f"/admin/memories/memory/{memory.id}/", follow=True).content.decode()
    assert f'href="/admin/conversations/{thread.id}/">Order queue</a>' in page


def test_a_conversation_that_one_may_not_read_is_not_found(alice: User, bob: User, ledger: Group) -> None:
    thread = capture(alice)
    assert find_by_address(person(alice), ADDRESS) == thread
    assert find_by_address(person(bob), ADDRESS) is None
    for other in (
        "conv-7",
        "https://claude.ai/",
        "https://claude.ai/chat/0197",
        "https://[",
        ADDRESS.replace("claude", "chatgpt"),
    ):
        assert find_by_address(person(alice), other) is None
