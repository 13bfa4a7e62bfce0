"""A small made-up team with about two hundred memories, for looking at the pages and for pictures in the docs.

Run on an empty LOCI_HOME: `LOCI_HOME=… python -m bench.demo`. The login is alice / a long walk by the sea.
"""

import itertools
import os
import random
from collections.abc import Iterator
from datetime import timedelta

import django
from time_machine import travel

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402 - models need django.setup()
from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402

from access.actor import ALL_SCOPES, Actor, Via  # noqa: E402
from access.groups import GroupChange, create_group, update_group  # noqa: E402
from access.groups.members import set_member  # noqa: E402
from access.models import Group  # noqa: E402
from access.tokens import actor_for_secret, actor_for_user, create_token  # noqa: E402
from bench.demo.words import EVENTS, FACTS, INSTRUCTIONS, MIAS, PASSWORD, RELATIONS, THINGS, TRAITS, WAYS  # noqa: E402
from maintenance.backups import make_backup  # noqa: E402
from maintenance.cycle import RunPlan, run_cycle  # noqa: E402
from maintenance.models import JobLock  # noqa: E402
from memories.draft import Draft  # noqa: E402
from memories.embedding import get_encoder  # noqa: E402
from memories.entities.store_relation import RelationDraft, store_relation  # noqa: E402
from memories.lifecycle import verbs  # noqa: E402
from memories.models import Memory  # noqa: E402
from memories.recall import RecallRequest, recall  # noqa: E402
from memories.recall.recall_log import COUNTER  # noqa: E402
from memories.store import StoreResult, store  # noqa: E402

DICE = random.Random(7)
DAYS = 45  # so long ago the team began


def people() -> dict[str, User]:
    """Make five people: an owner, a curator, a contributor, a reader, and one who belongs nowhere.

    alice may do everything; alice, bob and charlie may enter the admin; mia and vera only the workspace.
    """
    return {
        "alice": User.objects.create_superuser("alice", password=PASSWORD),
        "bob": User.objects.create_user("bob", password=PASSWORD, is_staff=True),
        "mia": User.objects.create_user("mia", password=PASSWORD),
        "vera": User.objects.create_user("vera", password=PASSWORD),
        "charlie": User.objects.create_user("charlie", password=PASSWORD, is_staff=True),
    }


def make_groups(alice: Actor, who: dict[str, User]) -> None:
    """Make three groups and their members; agents' writes into the support group wait."""
    for slug, title in [
        ("ledger", "Ledger service"),
        ("atlas", "Maps and routing"),
        ("support", "Customer care"),
    ]:
        group = create_group(alice, slug, title=title, private=slug == "support")
        if slug != "atlas":
            set_member(alice, group, user=who["bob"], role="curator")
        if slug == "ledger":
            set_member(alice, group, user=who["mia"], role="contributor")
            set_member(alice, group, user=who["vera"], role="viewer")
    update_group(alice, "support", GroupChange(policy="agents", instructions=INSTRUCTIONS["support"]))
    update_group(alice, "ledger", GroupChange(instructions=INSTRUCTIONS["ledger"]))


def all_drafts(alice: Actor, agent: Actor, *, decisions: int, traits: int) -> Iterator[tuple[Actor, Draft]]:
    """The texts of each author: facts, procedures, events, things with their traits, decisions."""
    for group, texts in FACTS.items():
        for text in texts:
            yield agent, Draft(text, group=group, scope="group", tags=(group, "facts"))
    for text in WAYS:
        yield alice, Draft(text, type="procedural", group="ledger", tags=("how-to",))
    start = timezone.now() - timedelta(days=15)
    for day, (group, text) in enumerate(itertools.product(("ledger", "atlas"), EVENTS)):
        at = start + timedelta(days=day * 2)
        yield agent, Draft(text, type="episodic", group=group, thread=f"standup {at:%B}", valid_from=at)
    for thing, trait in itertools.product(THINGS, TRAITS[:traits]):
        for group in ("ledger", "atlas"):
            yield agent, Draft(f"The {thing} of {group} {trait}.", group=group, scope="group", tags=(thing.split()[-1],),
                               confidence=round(DICE.uniform(0.45, 0.95), 2), importance=DICE.randint(2, 9))  # fmt: skip
    for number in range(decisions):
        text = f"Decision {number + 1}: {DICE.choice(THINGS)} moves to batch size {(number + 3) * 20} because it {DICE.choice(TRAITS)}."
        at = start + timedelta(days=number % 9)
        yield agent, Draft(text, type="episodic", group=DICE.choice(("ledger", "atlas")), valid_from=at)


def curate(alice: Actor, stored: list[StoreResult]) -> None:
    """Do to a few memories what people do."""
    ids = [
        str(answer.memory.id)
        for answer in stored
        if answer.memory is not None and answer.outcome == "created"
    ]
    store(alice, Draft("The deploy port of the ledger is 8443 since the move behind the new proxy; 8082 is gone.",
                       group="ledger", scope="group", supersedes=stored[2].memory.id if stored[2].memory else None))  # fmt: skip
    verbs.verify(alice, ids[0], reason="checked in the runbook")
    verbs.pin(alice, ids[0])
    verbs.pin(alice, ids[1])
    verbs.dispute(alice, ids[4], reason="the limit may be 300 now")
    verbs.forget(alice, ids[20], reason="noise")
    verbs.retract(alice, ids[21], reason="it was never decided")
    store(
        alice,
        Draft(
            "Ledger deploys use port 8081, and 8082 is the shadow instance's.", group="ledger", scope="group"
        ),
    )
    # Two that cannot both be true: what the review page begins with.
    for days in (30, 90):
        text = f"Backups of the ledger are kept for {days} days, then they are destroyed."
        store(alice, Draft(text, group="ledger", scope="group"))


def contribute(mia: Actor) -> None:
    """Store what a contributor knows."""
    for text in MIAS:
        store(mia, Draft(text, group="ledger", scope="group"))


def ask(agent: Actor) -> None:
    """Recall a few things, so that the log has something to show."""
    for query in (
        "which database does the ledger use",
        "how do we rotate the signing key",
        "who likes sailing",
    ):
        recall(agent, RecallRequest(query=query, group="ledger"))
    recall(agent, RecallRequest(query="postcodes of Malta", group="atlas"))
    COUNTER.flush()


def tidy(alice: Actor) -> None:
    """Run the cycle over one group and make a backup, so that maintenance has something to show, and still to do.

    The worker would else run the cycle over every group as soon as it starts.
    """
    run_cycle(alice, RunPlan(group=Group.objects.get(slug="atlas")))
    make_backup(alice)
    now = timezone.now()
    JobLock.objects.create(
        name="cycle", expected_since=now, last_started=now, last_finished=now, last_took_s=1.0
    )


def fill_store(*, decisions: int = 90, traits: int = len(TRAITS)) -> dict[str, str]:
    """Fill an empty store as if over the last weeks; give a token's secret of each person, with all that it may do."""
    get_encoder(timeout_s=60)
    with travel(timezone.now() - timedelta(days=DAYS)) as clock:
        who = people()
        alice = actor_for_user(who["alice"], via=Via.ADMIN)
        make_groups(alice, who)
        made = create_token(alice, user=who["alice"], name="coding agent", scopes=["read", "write"])
        agent = actor_for_secret(made.secret, via=Via.MCP, client="claude-code 2.1")
        create_token(alice, user=who["bob"], name="support bot", scopes=["read", "write"])
        for subject, predicate, other in RELATIONS:
            store_relation(agent, RelationDraft(subject, predicate, other, group="ledger"))
        drafts = list(all_drafts(alice, agent, decisions=decisions, traits=traits))
        stored = []
        for actor, draft in drafts:
            clock.shift(timedelta(days=DAYS) / (len(drafts) + 1))
            stored.append(store(actor, draft))
    curate(alice, stored)
    contribute(actor_for_user(who["mia"], via=Via.ADMIN))
    ask(agent)
    tidy(alice)
    return {name: _everything(alice, user) for name, user in who.items()}


def _everything(alice: Actor, user: User) -> str:
    scopes = sorted(ALL_SCOPES)
    return create_token(alice, user=user, name=f"{user.username} by program", scopes=scopes).secret


def main() -> None:
    """Make the tables, fill them and say how to log in."""
    call_command("migrate", verbosity=0)
    fill_store()
    print(f"{Memory.objects.count()} memories; log in as alice, bob, mia, vera or charlie with: {PASSWORD}")


if __name__ == "__main__":
    main()
