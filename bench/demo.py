"""A small made-up team with about two hundred memories, for looking at the pages and for pictures in the docs.

Run on an empty store: `LOCI_HOME=… python -m bench.demo`. The login is alice / a long walk by the sea.
"""

import itertools
import os
import random
from datetime import timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402 - models need django.setup()
from django.utils import timezone  # noqa: E402

from access.actor import Actor, Via  # noqa: E402
from access.groups import GroupChange, create_group, update_group  # noqa: E402
from access.members import set_member  # noqa: E402
from access.tokens import actor_for_secret, actor_for_user, create_token  # noqa: E402
from memories import verbs  # noqa: E402
from memories.draft import Draft  # noqa: E402
from memories.embedding import get_encoder  # noqa: E402
from memories.entities import RelationDraft, store_relation  # noqa: E402
from memories.recall import Asked, recall  # noqa: E402
from memories.recall.counting import COUNTER  # noqa: E402
from memories.store import Stored, store  # noqa: E402

PASSWORD = "a long walk by the sea"
DICE = random.Random(7)

FACTS = {
    "ledger": [
        "The ledger service settled on PostgreSQL 16; the write-ahead log is archived every five minutes.",
        "Amounts are stored as integer cents. Floats were tried in March and led to rounding faults in two invoices.",
        "The deploy port of the ledger is 8081; 8082 belongs to the shadow instance.",
        "Month-end closing runs on the first working day at 06:00 UTC and takes about forty minutes.",
        "Refunds above 500 euros need a second pair of eyes; the check is in the approval middleware.",
        "The read replica may lag up to ninety seconds, so balances shown after a payment come from the primary.",
    ],
    "atlas": [
        "Atlas tiles are rendered at night and kept for thirty days in the object store.",
        "The map client retries a tile three times with growing pauses, then shows the last good one.",
        "Postcodes of Malta have letters in front; the address parser treats them apart.",
        "The routing graph is rebuilt each Sunday; a rebuild needs 24 GB of memory.",
    ],
    "support": [
        "Customers of the old plan keep their price until the end of 2027.",
        "A ticket that mentions data loss goes to the on-call engineer at once.",
        "Answers in German use the formal address unless the customer writes first with du.",
        "The status page is updated before the first answer to a reported outage.",
    ],
}
WAYS = [
    "To rotate the signing key: add the new key, deploy, wait one hour, then take the old one out.",
    "When a migration fails half way, run it backwards first, then look at the lock table before a second try.",
    "Release notes are written from the merged titles; breaking changes come first, each with what to do.",
    "Before a load test, tell the payment provider and switch the sandbox to the large plan.",
]
EVENTS = [
    "Ines and Tomas agreed to drop the nightly export once the new report is live.",
    "The import of the March statements stopped at row 41,207 because of a missing currency.",
    "Rolled back release 2.14 after the error rate rose to two percent; the cause was a stale cache key.",
    "Pair session on the tile cache: hit rate went from 71 to 93 percent with a longer key.",
    "Customer workshop in Porto: they want exports as Parquet, and a way to undo a bulk edit.",
    "The on-call phone rang at 03:12 for a full disk on the build machine; log rotation was off.",
]
THINGS = [
    "invoice export",
    "tile renderer",
    "address parser",
    "report builder",
    "sign-in page",
    "webhook sender",
]
RELATIONS = [
    ("Ledger", "uses", "PostgreSQL"),
    ("Ines", "maintains", "Ledger"),
    ("Tomas", "maintains", "Atlas"),
]
TRAITS = [
    "keeps its settings in config.toml and reads them at start only",
    "writes one log line per request, with the duration in milliseconds",
    "is owned by the platform team and released on Tuesdays",
    "has a feature switch that is off for customers of the old plan",
    "falls back to the last good answer when its upstream is slow",
]


def people() -> dict[str, User]:
    """Make three people; alice may do everything."""
    alice = User.objects.create_superuser("alice", password=PASSWORD)
    bob = User.objects.create_user("bob", password=PASSWORD, is_staff=True)
    charlie = User.objects.create_user("charlie", password=PASSWORD, is_staff=True)
    return {"alice": alice, "bob": bob, "charlie": charlie}


def rooms(alice: Actor, bob: User) -> None:
    """Make three groups; agents' writes into the support group wait."""
    for slug, title in [
        ("ledger", "Ledger service"),
        ("atlas", "Maps and routing"),
        ("support", "Customer care"),
    ]:
        group = create_group(alice, slug, title=title, private=slug == "support")
        if slug != "atlas":
            set_member(alice, group, user=bob, role="curator")
    update_group(alice, "support", GroupChange(policy="agents"))


def fill(alice: Actor, agent: Actor) -> list[Stored]:
    """Store the facts, ways, events and things."""
    stored = []
    for group, texts in FACTS.items():
        stored += [
            store(agent, Draft(text, group=group, scope="group", tags=(group, "facts"))) for text in texts
        ]
    stored += [
        store(alice, Draft(text, type="procedural", group="ledger", tags=("how-to",))) for text in WAYS
    ]
    start = timezone.now() - timedelta(days=60)
    for day, (group, text) in enumerate(itertools.product(("ledger", "atlas"), EVENTS)):
        at = start + timedelta(days=day * 2)
        stored.append(
            store(agent, Draft(text, type="episodic", group=group, thread=f"standup {at:%B}", valid_from=at))
        )
    for thing, trait in itertools.product(THINGS, TRAITS):
        for group in ("ledger", "atlas"):
            draft = Draft(f"The {thing} of {group} {trait}.", group=group, scope="group", tags=(thing.split()[-1],),
                          confidence=round(DICE.uniform(0.45, 0.95), 2), importance=DICE.randint(2, 9))  # fmt: skip
            stored.append(store(agent, draft))
    for number in range(90):
        text = f"Decision {number + 1}: {DICE.choice(THINGS)} moves to batch size {(number + 3) * 20} because it {DICE.choice(TRAITS)}."
        stored.append(
            store(
                agent, Draft(text, type="episodic", group=DICE.choice(("ledger", "atlas")), valid_from=start)
            )
        )
    return stored


def curate(alice: Actor, stored: list[Stored]) -> None:
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


def ask(agent: Actor) -> None:
    """Recall a few things, so that the log has something to show."""
    for query in (
        "which database does the ledger use",
        "how do we rotate the signing key",
        "who likes sailing",
    ):
        recall(agent, Asked(query=query, group="ledger"))
    recall(agent, Asked(query="postcodes of Malta", group="atlas"))
    COUNTER.flush()


def main() -> None:
    """Fill an empty store."""
    get_encoder(timeout_s=60)
    who = people()
    alice = actor_for_user(who["alice"], via=Via.ADMIN)
    rooms(alice, who["bob"])
    made = create_token(alice, user=who["alice"], name="coding agent", scopes=["read", "write"])
    agent = actor_for_secret(made.secret, via=Via.MCP, client="claude-code 2.1")
    create_token(alice, user=who["bob"], name="support bot", scopes=["read", "write"])
    for subject, predicate, other in RELATIONS:
        store_relation(agent, RelationDraft(subject, predicate, other, group="ledger"))
    stored = fill(alice, agent)
    curate(alice, stored)
    ask(agent)
    print(f"{len(stored)} memories; log in as alice with: {PASSWORD}")


if __name__ == "__main__":
    main()
