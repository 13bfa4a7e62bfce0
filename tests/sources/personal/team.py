"""A team's store with one person who has left something everywhere, and what others made of it."""

import json
from io import BytesIO, StringIO
from typing import Any
from zipfile import ZipFile

from django.contrib.auth.models import User
from django.core.management import call_command

from access.actor import Via
from access.groups.members import set_member
from access.models import Group, Preference
from access.sign_in.users import PersonChange, change_person
from access.tokens import actor_for_user, operator
from loci_site.app.notifications.models import Subscription
from memories.draft import EditDraft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import dispute
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from memories.review.feedback import give_feedback
from memories.sessions.checkpoints import save_checkpoint
from sources.captures.keep import SentConversation, SentTurn, keep_conversations
from sources.exporting import export
from tests.memories.builders import kept
from tests.people import agent, person

LOGIN, NAME, MAIL = "quokkard", "Zenobia Brumpton", "zb@quokkamail.example"
# What is theirs alone, and what others built on.
ALONE = (
    "The Vlkodlak manuscript lies in drawer nine.",
    "Our printers come from Yggdrasilheim.",
    "Pasta with Xanthippolis sauce for the party.",
)
TURNS = ("How do I feed a wombatling?", "Give the wombatling a carrot each morning.")
BUILT_ON = ("The staging port is 8081.", "Checkout service of the shop", "The rollout begins on Monday.")
SAVED = "The snorkelplan is half done."


def browser(user: User) -> Any:
    return agent(user, name="browser", scopes=("read", "write", "capture"))


def fill(alice: User, bob: User, ledger: Group, garden: Group) -> User:
    """Write it, and return the person."""
    who = User.objects.create_user(LOGIN, MAIL, "a-long-password", first_name="Zenobia", last_name="Brumpton")
    change_person(operator(), who, PersonChange(email=f"new-{MAIL}"))
    change_person(operator(), who, PersonChange(email=MAIL))
    for group in (ledger, garden):
        set_member(person(alice), group, user=who, role="contributor")
    me, mine = actor_for_user(who, via=Via.APP), agent(who, name="laptop")
    other, admin = person(bob), person(alice)
    bobs = kept(other, "Bob waters the plants on Fridays.", group="ledger", tags=("rota",))
    port, shop, monday = (
        kept(author, text, group="ledger", type="entity" if text.startswith("Checkout") else "semantic")
        for author, text in zip((me, mine, me), BUILT_ON, strict=True)
    )
    kept(mine, ALONE[0], group="ledger", tags=("papers",))
    kept(me, ALONE[1], group="garden", source="laptop notes")
    old = kept(me, "Pasta for the party.", group="garden")
    edit(me, old.id, EditDraft(content=ALONE[2]))
    edit(admin, port.id, EditDraft(content="The staging port is 8082."))
    edit(me, bobs.id, EditDraft(content="Bob waters the plants on Saturdays."))
    relation = RelationDraft(
        str(shop.id), "owned_by_team", "Payments", group="ledger", evidence=(str(monday.id),)
    )
    store_relation(other, relation)
    dispute(mine, kept(other, "Tea is at four.", group="ledger").id, reason="it is at five")
    turns = tuple(
        SentTurn(str(n), role, text)
        for n, (role, text) in enumerate(zip(("user", "assistant"), TURNS, strict=True))
    )
    keep_conversations(
        browser(who), [SentConversation("claude.ai", "c-1", turns, title="Feeding wombatlings")]
    )
    save_checkpoint(mine, state=SAVED, group="ledger", thread="plan")
    Preference.objects.create(user=who, theme="dark")
    Subscription.objects.create(user=who, events=["review"])
    found = recall(mine, RecallRequest("Which port has staging?", group="ledger"))
    recall(other, RecallRequest("When is tea?", group="ledger"))
    COUNTER.flush()
    give_feedback(mine, used=[str(found.items[0].memory.id)])
    return User.objects.get(pk=who.pk)


def run(*words: str) -> Any:
    """The answer of `loci person …`."""
    out = StringIO()
    call_command("person", *words, "--json", stdout=out)
    return json.loads(out.getvalue())


def exported() -> list[str]:
    """The lines of an export of the whole store, without its log."""
    out = StringIO()
    export(operator(), out, groups=list(Group.objects.values_list("slug", flat=True)))
    return out.getvalue().splitlines()[1:-1]


def read_zip(data: bytes) -> dict[str, str]:
    with ZipFile(BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}
