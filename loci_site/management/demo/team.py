"""A sample team: five people, three groups, and some two hundred memories with a history; first the words, then the team."""

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from access.actor import Actor, Via
from access.groups import GroupChange, create_group, update_group
from access.groups.members import set_member
from access.models import Group
from access.tokens import actor_for_secret, actor_for_user, create_token
from maintenance.backups import make_backup
from maintenance.cycle import RunPlan, run_cycle
from maintenance.models import JobLock
from memories.draft import Draft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle import verbs
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from memories.store import StoreResult, store

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
INSTRUCTIONS = {
    "ledger": "Amounts are integer cents. Ask before changing the schema; name the ticket of each decision.",
    "support": "Answers to customers are polite and short. What agents write here waits for a person.",
}
_MIAS = (
    "Invoices are mailed at six in the morning, Lisbon time, after the nightly close.",
    "Customers abroad get their invoices without value-added tax once their number is checked.",
    "The glossary of the ledger is in the handbook under accounting.",
)
RELATIONS = [
    ("Ledger", "uses", "PostgreSQL"),
    ("Ines", "maintains", "Ledger"),
    ("Tomas", "maintains", "Atlas"),
    ("Ledger", "waits for", "Approval service"),
    ("Webhook sender", "belongs to", "Ledger"),
    ("Invoice export", "belongs to", "Ledger"),
    ("Mara", "maintains", "Approval service"),
    ("Atlas", "uses", "PostgreSQL"),
    ("Address parser", "belongs to", "Atlas"),
    ("Tile renderer", "belongs to", "Atlas"),
    ("Tomas", "reviews", "Tile renderer"),
]
TRAITS = [
    "keeps its settings in config.toml and reads them at start only",
    "writes one log line per request, with the duration in milliseconds",
    "is owned by the platform team and released on Tuesdays",
    "has a feature switch that is off for customers of the old plan",
    "falls back to the last good answer when its upstream is slow",
]


DECISIONS = 90


@dataclass(frozen=True)
class _Team:
    """The people by name, and the two who write most: alice, who may do everything, and an agent."""

    people: dict[str, User]
    alice: Actor
    agent: Actor


def found_team(password: str) -> _Team:
    """Make people, groups, tokens and relations in an empty store."""
    people = _make_people(password)
    alice = actor_for_user(people["alice"], via=Via.ADMIN)
    make_groups(alice, people)
    made = create_token(alice, user=people["alice"], name="coding agent", scopes=["read", "write"])
    agent = actor_for_secret(made.secret, via=Via.MCP, client="claude-code 2.1")
    create_token(alice, user=people["bob"], name="support bot", scopes=["read", "write"])
    for subject, predicate, other in RELATIONS:
        store_relation(agent, RelationDraft(subject, predicate, other, group="ledger"))
    return _Team(people, alice, agent)


def tell(
    team: _Team,
    *,
    began: datetime,
    decisions: int = DECISIONS,
    traits: int = len(TRAITS),
    after_each: Callable[[int], object] = lambda of: None,
) -> list[StoreResult]:
    """Store what the team knows; `after_each` gets the number of all texts."""
    drafts = list(_all_drafts(team, began=began, decisions=decisions, traits=traits))
    stored = []
    for actor, draft in drafts:
        after_each(len(drafts))
        stored.append(store(actor, draft))
    return stored


def live(team: _Team, stored: list[StoreResult]) -> None:
    """Curate, contribute, ask and maintain, so that every page has something to show."""
    curate(team.alice, stored)
    mia = actor_for_user(team.people["mia"], via=Via.ADMIN)
    for text in _MIAS:
        store(mia, Draft(text, group="ledger", scope="group"))
    ask(team.agent)
    _maintain(team.alice)


def _make_people(password: str) -> dict[str, User]:
    """Make five people: an owner, a curator, a contributor, a reader, and one who belongs nowhere.

    alice may do everything; the others what their roles in groups allow.
    """
    return {
        "alice": User.objects.create_superuser("alice", password=password),
        "bob": User.objects.create_user("bob", password=password),
        "mia": User.objects.create_user("mia", password=password),
        "vera": User.objects.create_user("vera", password=password),
        "charlie": User.objects.create_user("charlie", password=password),
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


def _all_drafts(
    team: _Team, *, began: datetime, decisions: int, traits: int
) -> Iterator[tuple[Actor, Draft]]:
    """The texts of each author, of events since `began`: facts, procedures, events, things with their traits, decisions."""
    alice, agent = team.alice, team.agent
    dice = random.Random(7)  # noqa: S311 - the same team each time
    for group, texts in FACTS.items():
        for text in texts:
            yield agent, Draft(text, group=group, scope="group", tags=(group, "facts"))
    for text in WAYS:
        yield alice, Draft(text, type="procedural", group="ledger", tags=("how-to",))
    for day, (group, text) in enumerate(itertools.product(("ledger", "atlas"), EVENTS)):
        at = began + timedelta(days=day * 2)
        yield agent, Draft(text, type="episodic", group=group, thread=f"standup {at:%B}", valid_from=at)
    for thing, trait in itertools.product(THINGS, TRAITS[:traits]):
        for group in ("ledger", "atlas"):
            yield agent, Draft(f"The {thing} of {group} {trait}.", group=group, scope="group", tags=(thing.split()[-1],),
                               confidence=round(dice.uniform(0.45, 0.95), 2), importance=dice.randint(2, 9))  # fmt: skip
    for number in range(decisions):
        text = f"Decision {number + 1}: {dice.choice(THINGS)} moves to batch size {(number + 3) * 20} because it {dice.choice(TRAITS)}."
        at = began + timedelta(days=number % 9)
        yield agent, Draft(text, type="episodic", group=dice.choice(("ledger", "atlas")), valid_from=at)


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


def _maintain(alice: Actor) -> None:
    """Run the cycle over one group and make a backup, so that maintenance has something to show, and still to do.

    The worker would else run the cycle over every group as soon as it starts.
    """
    run_cycle(alice, RunPlan(group=Group.objects.get(slug="atlas")))
    make_backup(alice)
    now = timezone.now()
    JobLock.objects.create(
        name="cycle", expected_since=now, last_started=now, last_finished=now, last_took_s=1.0
    )
