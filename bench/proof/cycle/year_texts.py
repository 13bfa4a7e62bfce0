"""What a team might tell its memory in a year: events that share topics, facts, corrections, things for a while.

Everything is made from a number: the same number says the same.
"""

import random
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from memories.draft import Draft

PEOPLE = ("Anna", "Bruno", "Chiara", "Deniz", "Emeka", "Freya", "Goran", "Hana", "Ines", "Jonas")
TOPICS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "the billing service": (
        ("invoices", "rounding", "the tax table", "refunds", "currencies"),
        ("was late", "was corrected", "failed for two customers", "passed the audit", "needs an owner"),
    ),
    "the search cluster": (
        ("reindexing", "the synonym list", "shard seven", "the query cache", "relevance"),
        ("took nine hours", "was rolled back", "improved", "ran out of disk", "was tuned again"),
    ),
    "the mobile app": (
        ("the login screen", "push messages", "the crash report", "offline mode", "the store review"),
        ("was redrawn", "arrived twice", "is under two percent", "works on trains", "was accepted"),
    ),
    "the garden behind the office": (
        ("the tomatoes", "the bees", "the compost", "the bench", "the rain barrel"),
        ("need water", "moved hives", "smells", "was painted green", "overflowed"),
    ),
    "the choir evening": (
        ("the altos", "the programme", "the hall", "the soloist", "the encore"),
        ("want more rehearsals", "was printed", "is booked", "has a cold", "was applauded"),
    ),
    "the warehouse move": (
        ("the pallets", "the scanners", "the lease", "the forklift", "the night shift"),
        ("were relabelled", "lost their network", "was signed", "broke a wheel", "got a raise"),
    ),
}
ROUTINES = (
    "The nightly backup failed because the disk was full.",
    "The staging server was restarted after the deploy.",
    "The on-call phone rang for a false alarm.",
)
FACTS = (
    "The {thing} {number} listens on port {port}.",
    "The contract {number} with the supplier ends in {month} {year}.",
    "The room {number} is reserved for {person} on weekdays.",
    "The dashboard {number} refreshes every {port} seconds.",
)
MONTHS = ("January", "March", "May", "July", "September", "November")


class Said(NamedTuple):
    """One statement of a person. `corrects`: it replaces an older fact."""

    draft: Draft
    corrects: bool = False


def said_in_week(week: int, amount: int, *, monday: datetime) -> list[Said]:
    """The texts of a week: about 60 % events, a tenth of them routines; 25 % facts, 10 % corrections, 5 % doubts."""
    return [
        _said(week * amount + number, random.Random(f"year:{week}:{number}"), monday)
        for number in range(amount)
    ]


def _said(number: int, dice: random.Random, monday: datetime) -> Said:
    group = "harbour" if number % 3 else "orchard"
    moment = monday + timedelta(hours=dice.uniform(0, 6 * 24))
    share = dice.random()
    own: dict[str, Any] = {"group": group, "scope": "group", "confidence": 0.7}
    if share < 0.06:
        return Said(Draft(dice.choice(ROUTINES), type="episodic", valid_from=moment, **own))
    if share < 0.60:
        thread = f"week {monday:%G-%V} talk" if dice.random() < 0.3 else ""
        return Said(Draft(_event(dice), type="episodic", valid_from=moment, thread=thread, **own))
    if share < 0.95:
        return Said(Draft(_fact(number, dice), type="semantic", **own), corrects=share >= 0.85)
    own |= {"confidence": 0.06, "expires_at": moment + timedelta(days=dice.randint(8, 60))}
    return Said(Draft(f"Perhaps {_fact(number, dice)}", type="semantic", **own))


def _event(dice: random.Random) -> str:
    topic = dice.choice(list(TOPICS))
    things, outcomes = TOPICS[topic]
    who, other = dice.sample(PEOPLE, 2)
    return f"{who} told {other} about {topic}: {dice.choice(things)} {dice.choice(outcomes)}."


def _fact(number: int, dice: random.Random) -> str:
    return dice.choice(FACTS).format(
        thing=dice.choice(("printer", "gateway", "camera", "sensor")),
        number=number,
        port=dice.randint(1000, 9999),
        month=dice.choice(MONTHS),
        year=dice.randint(2027, 2035),
        person=dice.choice(PEOPLE),
    )
