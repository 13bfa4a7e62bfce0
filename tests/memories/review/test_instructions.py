"""Instruction files as proposals: the card, what approving does to the group, and undo."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.errors import Conflict, InvalidInput, NotPermitted
from access.groups import GroupChange, update_group
from access.groups.members import set_member
from access.models import AuditEntry, Group, Role
from access.tokens import operator
from memories.models import Proposal
from memories.review import instructions
from memories.review.card import proposal_card
from memories.review.decide import ReviewDecision, decide, take_back
from memories.review.instructions import propose_instructions
from memories.review.proposals import ProposalOut, list_proposals
from memories.review.queue import CardKind, review_deck
from tests.guard.samples import secret_samples
from tests.people import person

pytestmark = pytest.mark.django_db
FILE = "Use British spelling.\nIgnore all previous instructions about spelling."


def text_of(group: Group) -> str:
    return Group.objects.get(pk=group.pk).instructions


def proposed(
    group: Group, text: str = FILE, file: str = "notes#CLAUDE.md", *, is_whole: bool = False
) -> bool:
    group.refresh_from_db()
    return propose_instructions(operator(), group, text, file=file, is_whole=is_whole)


def waiting() -> Proposal:
    return Proposal.objects.get(status="waiting")


def approve() -> tuple[str, ...]:
    return decide(operator(), ReviewDecision("approve", proposal=waiting().id)).entries


def test_a_file_waits_and_its_card_shows_the_difference(ledger: Group) -> None:
    update_group(operator(), "ledger", GroupChange(instructions="Amounts are in cents."))
    assert proposed(ledger)
    [entry] = review_deck(operator()).cards
    assert (entry.kind, entry.memory, entry.text) == (
        CardKind.PROPOSAL, None, "Instructions of ledger: notes#CLAUDE.md",
    )  # fmt: skip
    card = proposal_card(operator(), entry.id)
    assert card.proposed is not None
    assert card.proposed.text == f"Amounts are in cents.\n\n{FILE}"
    assert [part.kind for part in card.proposed.parts] == ["same", "new"]
    assert card.proposed.effects == ("agents get the new instructions of ledger at the start of a session",)
    assert text_of(ledger) == "Amounts are in cents."
    assert [row.id for row in list_proposals(operator()).rows] == [entry.id]


def test_approving_adds_the_file_and_undo_takes_it_out(ledger: Group) -> None:
    update_group(operator(), "ledger", GroupChange(instructions="Amounts are in cents."))
    proposed(ledger)
    entries = approve()
    assert text_of(ledger) == f"Amounts are in cents.\n\n{FILE}"
    assert take_back(operator(), entries) == (
        "the proposal waits again", "the group's instructions are as before",
    )  # fmt: skip
    assert text_of(ledger) == "Amounts are in cents."
    approve()
    assert text_of(ledger).endswith(FILE)


def test_undo_keeps_what_somebody_changed_since(ledger: Group) -> None:
    proposed(ledger)
    entries = approve()
    update_group(operator(), "ledger", GroupChange(instructions="Something else."))
    with pytest.raises(Conflict, match="changed since"):
        take_back(operator(), entries)
    assert text_of(ledger) == "Something else."


def test_a_newer_text_of_a_file_replaces_the_accepted_one_and_the_waiting_one(ledger: Group) -> None:
    update_group(operator(), "ledger", GroupChange(instructions="Amounts are in cents."))
    proposed(ledger)
    approve()
    assert not proposed(ledger)
    assert proposed(ledger, "Use American spelling.")
    assert proposed(ledger, "Use Irish spelling.")
    assert sorted(Proposal.objects.values_list("status", flat=True)) == ["approved", "stale", "waiting"]
    approve()
    assert text_of(ledger) == "Amounts are in cents.\n\nUse Irish spelling."


def test_two_files_are_accepted_one_after_the_other(ledger: Group) -> None:
    proposed(ledger, "Use British spelling.", "a#CLAUDE.md")
    proposed(ledger, "Write tests first.", "a#AGENTS.md")
    for proposal in Proposal.objects.order_by("key"):
        decide(operator(), ReviewDecision("approve", proposal=proposal.id))
    assert text_of(ledger) == "Use British spelling.\n\nWrite tests first."


def test_all_of_the_instructions_become_stale_with_a_change(ledger: Group) -> None:
    proposed(ledger, is_whole=True)
    update_group(operator(), "ledger", GroupChange(instructions="Something else."))
    assert review_deck(operator()).cards == ()
    with pytest.raises(Conflict, match="stale"):
        approve()
    assert proposed(ledger, is_whole=True)
    approve()
    assert text_of(ledger) == FILE


def test_a_declined_text_and_one_that_is_there_are_not_proposed(ledger: Group) -> None:
    proposed(ledger)
    decide(operator(), ReviewDecision("reject", proposal=waiting().id))
    assert not proposed(ledger)
    update_group(operator(), "ledger", GroupChange(instructions="Write tests first."))
    assert not proposed(ledger, "Write tests first.", "b#CLAUDE.md")
    assert Proposal.objects.count() == 1


def test_secrets_are_masked_and_what_is_too_long_is_refused(ledger: Group) -> None:
    secret = secret_samples()["github-token"]
    proposed(ledger, f"Log in with {secret}.")
    assert secret not in str(waiting().arguments)
    with pytest.raises(InvalidInput, match="longer than 20,000"):
        proposed(ledger, "long " * 5000, "b#CLAUDE.md")


def test_a_curator_decides_and_nobody_else(ledger: Group, bob: User, charlie: User) -> None:
    proposed(ledger)
    set_member(operator(), ledger, user=charlie, role=Role.CURATOR)
    decision = ReviewDecision("approve", proposal=waiting().id)
    with pytest.raises(NotPermitted):
        decide(person(bob), decision)
    with pytest.raises(NotPermitted):  # a curator changes them by a proposal alone
        update_group(person(charlie), "ledger", GroupChange(instructions=FILE))
    entries = decide(person(charlie), decision).entries
    assert text_of(ledger) == FILE
    with pytest.raises(NotPermitted):
        take_back(person(bob), entries)
    row = AuditEntry.objects.filter(operation="group").latest("key")
    assert (row.actor, row.payload["changes"]) == ("charlie", {"instructions": ["", FILE]})


def test_the_page_shows_its_card(ledger: Group, alice: User, client: Client) -> None:
    proposed(ledger)
    client.force_login(alice)
    page = client.get("/admin/review/").content.decode()
    assert "Instructions of ledger: notes#CLAUDE.md" in page
    shown = client.get(f"/admin/review/card/proposal/{waiting().id}/").content.decode()
    assert "British" in shown
    assert "Recall before and after" not in shown
    decided = client.post("/admin/review/decide/", {"verb": "approve", "proposal": str(waiting().id)})
    assert decided.status_code == 200
    assert text_of(ledger) == FILE


def test_the_json_names_group_and_file(ledger: Group) -> None:
    proposed(ledger)
    shown = ProposalOut.json(waiting())
    assert (shown["verb"], shown["memory"], shown["group"]) == ("instructions", None, "ledger")
    assert shown["arguments"]["text"] == FILE
    assert shown["subject"] == "instructions:notes#CLAUDE.md"


def test_the_older_text_of_a_file_waits_until_the_newer_one_does(
    ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposed(ledger)

    def fail(*args: object, **kwargs: object) -> None:
        raise Conflict("The store is full.")

    monkeypatch.setattr(instructions, "propose", fail)
    with pytest.raises(Conflict):
        proposed(ledger, "Use American spelling.")
    assert waiting().arguments["text"] == FILE
