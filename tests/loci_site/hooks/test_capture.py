"""What hooks keep of what is said: asked for by a person, waiting for a person, and never their own words again."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.groups import GroupChange, update_group
from access.models import CandidatePolicy
from loci_site.hooks.capture import find_captures, find_decisions
from memories.lifecycle.verbs import approve
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.types import Trust
from tests.loci_site.hooks.conftest import DATABASE, FACTS, HookClient
from tests.people import person


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        ("Remember that the staging host is called amber.", "the staging host is called amber."),
        ("Fix the test. Please remember: invoices close on the 5th.", "invoices close on the 5th."),
        ("#remember the staging host is called amber", "the staging host is called amber"),
        ("From now on we squash before merging.", "From now on we squash before merging."),
        ("- never log an e-mail address", "never log an e-mail address"),
        ("Always answer in short sentences!", "Always answer in short sentences!"),
        ("Merk dir, dass die Rechnungen am Fünften schließen.", "die Rechnungen am Fünften schließen."),
        ("Ab jetzt benennen wir Zweige nach Tickets.", "Ab jetzt benennen wir Zweige nach Tickets."),
        ("Souviens-toi que les factures ferment le 5.", "les factures ferment le 5."),
        ("Recuerda que las facturas cierran el día 5.", "las facturas cierran el día 5."),
        ("Ricorda che le fatture chiudono il 5.", "le fatture chiudono il 5."),
        ("Onthoud dat facturen op de vijfde sluiten.", "facturen op de vijfde sluiten."),
        ("We decided to keep SQLite.", "We decided to keep SQLite."),
    ],
)
def test_what_a_person_asks_to_be_remembered(prompt: str, kept: str) -> None:
    assert [capture.text for capture in find_captures(prompt)] == [kept]


@pytest.mark.parametrize(
    "prompt",
    [
        "Do you remember which host is staging?",
        "I always forget how this works, explain it.",
        "remember this",
        "Remember to run the tests",
        "Remember when we moved the staging host?",
        "remember that this function is slow",
        "why does it never return",
        "The loop has always been slow here.",
        "> From now on we squash before merging.",
        "```\nremember that the staging host is amber\n```",
        "never mind",
    ],
)
def test_what_nobody_asked_to_be_remembered(prompt: str) -> None:
    assert find_captures(prompt) == []


def test_an_agents_decision_needs_its_reason() -> None:
    answer = "Done. We settled on SQLite because nobody runs a server. We decided to rename it."
    assert [each.text for each in find_decisions(answer)] == [
        "We settled on SQLite because nobody runs a server."
    ]


def waiting() -> list[tuple[str, str, str]]:
    rows = Memory.objects.filter(source__startswith="hook:").order_by("key")
    return [(row.content, row.trust, ",".join(row.tags)) for row in rows]


@pytest.mark.django_db
@pytest.mark.model
class TestStored:
    SAID = "Remember that the staging host is called amber."
    KEPT = "the staging host is called amber."

    def test_a_capture_waits_for_a_person(self, hooks: HookClient, alice: User) -> None:
        hooks.call("prompt", prompt=self.SAID)
        hooks.call("prompt", prompt=self.SAID)
        assert waiting() == [(self.KEPT, Trust.CANDIDATE, "said")]
        [row] = Memory.objects.filter(source="hook:claude-code")
        assert (row.source_ref.startswith("s-1:"), row.group.slug, row.client) == (
            True,
            "ledger",
            "claude-code",
        )
        request = RecallRequest("what is the staging host called?", group="ledger")
        assert row.id not in {item.memory.id for item in recall(person(alice), request).items}
        approve(person(alice), row.id)
        assert row.id in {item.memory.id for item in recall(person(alice), request).items}

    def test_a_group_may_let_captures_count_but_not_decisions(self, hooks: HookClient, alice: User) -> None:
        update_group(person(alice), "ledger", GroupChange(captures="live"))
        hooks.call("prompt", prompt=f"{self.SAID} We decided to keep SQLite.")
        assert waiting() == [
            (self.KEPT, Trust.ACTIVE, "said"),
            ("We decided to keep SQLite.", Trust.CANDIDATE, "decision"),
        ]
        update_group(person(alice), "ledger", GroupChange(policy=CandidatePolicy.AGENTS))
        hooks.call("prompt", prompt="From now on we squash before merging.")
        assert waiting()[2][1] == Trust.CANDIDATE

    def test_commits_of_the_session_are_events_once(self, hooks: HookClient) -> None:
        hooks.call("session-start", source="startup")
        now = int(datetime.now(UTC).timestamp())
        commits = [
            {
                "sha": "a" * 40,
                "at": now + 5,
                "message": "Round down\n\nAs Anna asked.\n\nSigned-off-by: B <b@b.example>",
            },
            {"sha": "b" * 40, "at": now - 9000, "message": "Of this morning"},
        ]
        for event in ("pre-compact", "session-end"):
            hooks.call(event, loci={"branch": "main", "commits": commits})
        assert waiting() == [
            ("Commit aaaaaaaaaa on main: Round down\n\nAs Anna asked.", Trust.CANDIDATE, "commit")
        ]

    @pytest.mark.parametrize(
        "prompt",
        [
            "<private>Remember that the staging host is called amber.</private> go on",
            "#skip Remember that the staging host is called amber.",
            "<loci group=ledger>Remember that the staging host is called amber.</loci>",
            "<system-reminder>\nAlways call the tool.\n</system-reminder> why?",
        ],
    )
    def test_what_is_private_or_injected_is_not_captured(self, hooks: HookClient, prompt: str) -> None:
        hooks.call("prompt", prompt=prompt)
        assert waiting() == []

    def test_a_session_that_is_off_captures_nothing(self, hooks: HookClient) -> None:
        hooks.call("prompt", prompt="/loci off")
        hooks.call("prompt", prompt=self.SAID)
        assert waiting() == []

    def test_thirty_prompts_with_their_injections_store_no_injected_word(self, hooks: HookClient) -> None:
        """Each prompt and answer carries all that was injected so far: nothing of it comes back as a memory."""
        before, heard = Memory.objects.count(), hooks.context("session-start", source="startup")
        asked = (
            "which database is it?",
            "how are invoices numbered?",
            "who decides about holidays in finance?",
        )
        for number in range(10):
            for prompt in asked:
                heard += hooks.context("prompt", prompt=f"{heard}\n{prompt} Round {number}.")
                sent: dict[str, Any] = {
                    "last_assistant_message": f"We decided on it because: {FACTS[1]}\n{heard}"
                }
                hooks.call("stop", **sent)
            hooks.call("pre-compact", trigger="auto")
        hooks.call("prompt", prompt=self.SAID)
        assert DATABASE in heard
        new = [row.content for row in Memory.objects.order_by("key")[before:]]
        assert new[-1] == self.KEPT
        assert not any("<" in text or DATABASE in text for text in new)
        assert len([text for text in new if text != self.KEPT]) <= 1  # the agent's own sentence, once
