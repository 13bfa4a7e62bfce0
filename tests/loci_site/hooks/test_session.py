"""A session of Claude Code as its hooks tell it: start, prompts, compaction, end, and the next start."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from access.groups import GroupChange, update_group
from access.models import AuditEntry, Group
from loci_site.hooks.models import HookInjection, HookSession
from memories.embedding import get_encoder
from memories.lifecycle.verbs import purge, retract
from memories.models import Checkpoint, Memory, RecallLog
from memories.recall.budget import count_tokens
from tests.loci_site.hooks.conftest import DATABASE, FACTS, HookClient
from tests.people import make_token, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
Session = Callable[[str], HookClient]
PROMPT = "which database does the ledger run on in production?"


@pytest.fixture(autouse=True)
def _encoder() -> None:
    get_encoder(timeout_s=60)


def tokens(text: str) -> int:
    return count_tokens(text, get_encoder(timeout_s=60))


def test_a_session_starts_with_instructions_pinned_facts_and_counts(hooks: HookClient, alice: User) -> None:
    update_group(person(alice), "ledger", GroupChange(instructions="Amounts are in cents."))
    text = hooks.context("session-start", source="startup")
    assert text.startswith("<loci group=ledger>\n")
    assert text.endswith("\n</loci>")
    assert "Amounts are in cents." in text
    assert text.count(DATABASE) == 1
    assert FACTS[1] not in text
    assert "Stored here: 5 facts. recall_memory has more." in text
    assert tokens(text) <= 600


def test_a_long_group_still_starts_within_its_tokens(hooks: HookClient, alice: User) -> None:
    update_group(person(alice), "ledger", GroupChange(instructions="Amounts are in cents. " * 400))
    text = hooks.context("session-start", source="startup")
    assert tokens(text) <= 600
    assert DATABASE in text


def test_a_prompt_gets_what_recall_is_sure_of_once_in_a_session(
    hooks: HookClient, other_session: Session
) -> None:
    text = hooks.context("prompt", prompt=PROMPT)
    assert (text.count(DATABASE), text.count("<memory "), text.count("<loci ")) == (1, 1, 1)
    assert tokens(text) <= 300
    assert hooks.call("prompt", prompt=PROMPT) == {}
    assert DATABASE in other_session("s-2").context("prompt", prompt=PROMPT)
    hooks.call("pre-compact", trigger="auto")
    assert DATABASE in hooks.context("prompt", prompt=PROMPT)
    assert not RecallLog.objects.exists()  # nobody asked


def test_what_a_session_began_with_is_not_injected_again(hooks: HookClient) -> None:
    assert DATABASE in hooks.context("session-start", source="startup")
    assert hooks.call("prompt", prompt=PROMPT) == {}


@pytest.mark.parametrize(
    "prompt",
    [
        "yes, go on",
        "/review the database of the ledger in production",
        "!psql the ledger's production database",
        "make it shorter:\n```python\nledger = production.database('PostgreSQL')\nprint(ledger.host)\n```",
        "run the test of this database module again",
        "how tall is the highest mountain of Peru?",
        "",
    ],
)
def test_a_prompt_that_asks_nothing_gets_nothing(hooks: HookClient, prompt: str) -> None:
    assert hooks.call("prompt", prompt=prompt) == {}


def test_one_checkpoint_a_session_which_the_next_one_begins_with(
    hooks: HookClient, other_session: Session
) -> None:
    hooks.call("session-start", source="startup")
    for prompt in (
        "Add a column for the discount",
        "name it discount_cents",
        "now the migration",
        "and a test for it",
    ):
        hooks.call("prompt", prompt=prompt)
    hooks.call("stop", last_assistant_message="The migration 0042 is written, the test still fails.")
    hooks.call("pre-compact", trigger="auto")
    [first] = Checkpoint.objects.all()
    place = {"branch": "discounts", "head": "8c1f2e7" + "0" * 33, "files": ["ledger/models.py"]}
    hooks.call("session-end", reason="other", loci=place)
    [saved] = Checkpoint.objects.all()
    assert saved.key != first.key
    assert saved.state == {
        "goal": "Add a column for the discount",
        "requests": ["name it discount_cents", "now the migration", "and a test for it"],
        "answer": "The migration 0042 is written, the test still fails.",
        "branch": "discounts",
        "commit": "8c1f2e700000",
        "files": ["ledger/models.py"],
    }
    text = other_session("s-2").context("session-start", source="startup")
    assert "The migration 0042 is written" in text
    assert "Where work stood" in text
    written = AuditEntry.objects.filter(operation="checkpoint").count()
    assert written == 2


def test_a_client_that_reports_no_end_keeps_its_checkpoint_with_each_answer(hooks: HookClient) -> None:
    codex = replace(hooks, client="codex")
    codex.call("prompt", prompt="Add a column for the discount")
    for answer in ("It is written.", "It is tested."):
        codex.call("stop", last_assistant_message=answer)
    [saved] = Checkpoint.objects.all()
    assert saved.state["answer"] == "It is tested."


def test_a_session_without_a_prompt_leaves_no_checkpoint(hooks: HookClient) -> None:
    hooks.call("session-start", source="startup")
    hooks.call("session-end", reason="other")
    assert not Checkpoint.objects.exists()


def test_another_persons_session_is_not_where_my_work_stood(hooks: HookClient, alice: User) -> None:
    """A hook's checkpoint tells what somebody was about to do; one that an agent saved on purpose is for all."""
    mine = HookClient(make_token(alice, name="desk", scopes=("hook",))[1], session="a-1")
    mine.call("prompt", prompt="Write the letter about Bob's salary")
    mine.call("session-end", reason="other")
    assert "salary" not in hooks.context("session-start", source="startup")
    assert "salary" in mine.context("session-start", source="startup")


def test_a_resumed_session_gets_its_start_only_if_it_changed(hooks: HookClient, alice: User) -> None:
    assert hooks.context("session-start", source="startup")
    assert hooks.call("session-start", source="resume") == {}
    update_group(person(alice), "ledger", GroupChange(instructions="Round down."))
    assert "Round down." in hooks.context("session-start", source="resume")


def test_after_a_compaction_a_session_gets_its_checkpoint_alone(hooks: HookClient) -> None:
    hooks.call("prompt", prompt="Add a column for the discount")
    hooks.call("post-compact", trigger="auto", compact_summary="The column exists; the test is missing.")
    text = hooks.context("session-start", source="compact")
    assert "The column exists; the test is missing." in text
    assert DATABASE not in text


def test_a_checkpoint_leaves_out_what_quotes_a_withdrawn_text(hooks: HookClient, alice: User) -> None:
    row = Memory.objects.get(content=FACTS[3])
    retract(person(alice), row.id, reason="wrong")
    hooks.call("prompt", prompt=FACTS[3])
    hooks.call("session-end", reason="other", loci={"branch": "main"})
    [saved] = Checkpoint.objects.all()
    assert saved.state == {"branch": "main"}


def test_private_and_injected_words_are_in_no_checkpoint(hooks: HookClient) -> None:
    mine = hooks.context("prompt", prompt=PROMPT)
    hooks.call(
        "prompt", prompt=f"{mine} Plan the move <private>before Anna is told</private> to another host"
    )
    hooks.call("stop", last_assistant_message=f"As stored: {mine} The plan has four steps.")
    hooks.call("session-end", reason="other")
    [saved] = Checkpoint.objects.all()
    said = str(saved.state)
    assert "Anna" not in said
    assert "brass" not in said
    assert "The plan has four steps." in said


def test_a_session_can_be_switched_off(hooks: HookClient, other_session: Session) -> None:
    hooks.call("prompt", prompt="/loci off")
    assert hooks.call("prompt", prompt=PROMPT) == {}
    hooks.call("session-end", reason="other")
    assert not Checkpoint.objects.exists()
    assert DATABASE in other_session("s-2").context("prompt", prompt=PROMPT)
    hooks.call("prompt", prompt="/loci on")
    assert DATABASE in hooks.context("prompt", prompt=PROMPT)


def test_an_ignored_folder_gets_and_leaves_nothing(hooks: HookClient) -> None:
    assert hooks.call("session-start", source="startup", loci={"off": True}) == {}
    assert hooks.call("prompt", prompt=PROMPT) == {}
    hooks.call("session-end", reason="other")
    assert not Checkpoint.objects.exists()


def test_the_setting_switches_all_hooks_off(hooks: HookClient, settings: LazySettings) -> None:
    settings.LOCI = replace(settings.LOCI, hooks=replace(settings.LOCI.hooks, enabled=False))
    assert hooks.call("session-start", source="startup") == {}
    assert hooks.call("prompt", prompt=PROMPT) == {}


def test_a_prompt_that_recall_is_too_slow_for_goes_on_without(
    hooks: HookClient, settings: LazySettings, ledger: Group
) -> None:
    settings.LOCI = replace(settings.LOCI, hooks=replace(settings.LOCI.hooks, prompt_ms=0))
    assert hooks.call("prompt", prompt=PROMPT) == {}


def test_a_purge_reaches_what_a_session_said(hooks: HookClient, alice: User) -> None:
    row = Memory.objects.get(content=FACTS[3])
    hooks.call("session-start", source="startup")
    hooks.call("prompt", prompt=f"Is it true? {FACTS[3]}")
    HookInjection.objects.create(
        session=HookSession.objects.get(), memory_id=row.id, event="prompt", tokens=9
    )
    purge(person(alice), row.id, reason="asked for")
    assert "Anna" not in str(HookSession.objects.get().state)
    assert not HookInjection.objects.filter(memory_id=row.id).exists()
