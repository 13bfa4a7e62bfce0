"""Faults that histories have found: the smallest history of each, and the kinds that random histories may show until then.

Empty `why` once a fault is mended: its history then holds like any other, and no history may show its kinds.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from tests.changes.histories import History
from tests.changes.world import Step


@dataclass(frozen=True)
class Found:
    """A fault: the history that shows it, its kind, what is wrong today, and patterns of the kinds that it takes elsewhere."""

    history: History
    kind: str
    why: str = ""
    also: tuple[str, ...] = ()


def found(kind: str, why: str, *steps: Step, policy: str = "none", also: tuple[str, ...] = ()) -> Found:
    """A fault that these steps show."""
    return Found(History(policy, steps), kind, why, also)


RICH: Final = {
    "tags": ("red",),
    "importance": 9,
    "confidence": 0.95,
    "metadata": {"ticket": 7},
    "expires_at": 30,
}
PLAN: Final = {"supersedes": "port", "valid_from": 30}
FOUND: Final[dict[str, Found]] = {
    # Retention and purge.
    "retention follows a wording to the source's chain": found(
        "retention destroys a memory that counts",
        "",
        ("agent", "store", "port", {}),
        ("import", "import", {"line 1": "port"}, "ledger"),
        ("import", "import", {"line 1": "garage"}, "ledger"),
        ("curator", "verify", "garage"),
        ("agent", "forget", "port/first"),
        ("job", "days", 40),
        ("job", "retention"),
    ),
    "purge follows a wording to the source's chain": found(
        "purge destroys a memory that counts",
        "",
        ("agent", "store", "port", {}),
        ("import", "import", {"line 1": "port"}, "ledger"),
        ("import", "import", {"line 1": "garage"}, "ledger"),
        ("curator", "purge", "port/first"),
    ),
    # Quarantine.
    "restore opens a quarantine": found(
        "restore by an agent makes a text active",
        "",
        ("agent", "store", "order", {}),
        ("agent", "store", "garage", {"supersedes": "order"}),
        ("agent", "restore", "order"),
        also=(
            "undo of * leaves more trust",
            "undo of * by an agent makes a text *",
            "edit by an agent makes a text active",
        ),
    ),
    "undo opens a quarantine": found(
        "undo of store leaves more trust",
        "",
        ("agent", "store", "order", {}),
        ("agent", "store", "garage", {"supersedes": "order"}),
        ("", "undo", 0),
    ),
    "the verb supersede and restore open a quarantine": found(
        "restore by an agent makes a text active",
        "",
        ("agent", "store", "order", {}),
        ("agent", "store", "garage", {}),
        ("agent", "supersede", "order", "garage"),
        ("agent", "restore", "order"),
    ),
    "a quarantined text is stored with another type": found(
        "store by an agent makes a text active",
        "",
        ("agent", "store", "port", {}),
        ("curator", "quarantine", "port"),
        ("agent", "store", "port", {"type": "procedural"}),
        also=("import by import makes a text active",),
    ),
    "a quarantined event is stored again": found(
        "store by an agent makes a text active",
        "",
        ("agent", "store", "altos", {}),
        ("curator", "quarantine", "altos"),
        ("agent", "store", "altos", {}),
    ),
    # What comes back is another memory.
    "undo of a store that superseded loses fields": found(
        "undo of store leaves other fields",
        "",
        ("agent", "store", "port", RICH),
        ("agent", "store", "garage", {"supersedes": "port"}),
        ("", "undo", 0),
        also=(
            "undo of * leaves other fields",
            "undo of * leaves other times",
            "undo of * leaves other findings",
        ),
    ),
    "undo of an edit of text and fields keeps the fields": found(
        "undo of edit leaves other fields",
        "",
        ("agent", "store", "port", {}),
        ("agent", "edit", "port", {"content": "garage", "tags": ("red",)}),
        ("", "undo", 0),
    ),
    "undo of an edit of type and end keeps the end": found(
        "undo of edit leaves other times",
        "",
        ("agent", "store", "port", {}),
        ("agent", "edit", "port", {"type": "procedural", "expires_at": 60}),
        ("", "undo", 0),
    ),
    "undo of an approval strips a verification": found(
        "undo of review approve leaves less trust",
        "",
        ("agent", "store", "port", {}),
        ("curator", "verify", "port"),
        ("agent", "edit", "port", {"content": "garage"}),
        ("curator", "review", "approve", "garage"),
        ("", "undo", 0),
        also=("undo of * leaves less trust",),
    ),
    # Supersede and approve.
    "a candidate is activated and its conflict settled": found(
        "store settles a conflict, and both memories count",
        "",
        ("agent", "store", "port", {}),
        ("agent", "store", "port2", {"supersedes": "port"}),
        ("agent", "store", "nas", {}),
        ("agent", "store", "port", {}),
        ("agent", "store", "port", {"supersedes": "nas"}),
        also=("* settles a conflict, and both memories count",),
    ),
    # Imports.
    "a file that goes back is not followed": found(
        "import does not follow its file",
        "",
        ("import", "import", {"line 1": "port"}, "ledger"),
        ("import", "import", {"line 1": "garage"}, "ledger"),
        ("import", "import", {"line 1": "port"}, "ledger"),
    ),
    # Plans.
    "a plan that expires leaves a hole": found(
        "cycle ends a plan and not the end of what it was to replace",
        "",
        ("agent", "store", "port", {}),
        ("agent", "store", "port2", PLAN | {"expires_at": 10}),
        ("job", "days", 15),
        ("job", "cycle"),
        also=("* ends a plan and not the end of what it was to replace",),
    ),
    "a plan that is cleaned up leaves a hole": found(
        "cycle ends a plan and not the end of what it was to replace",
        "",
        ("agent", "store", "port", {}),
        ("agent", "store", "port2", PLAN | {"valid_from": 700, "confidence": 0.03}),
        ("job", "days", 265),
        ("job", "cycle"),
    ),
    "undo of moving a plan leaves a hole": found(
        "the context pack shows what is hidden",
        "",
        ("agent", "store", "port", {}),
        ("agent", "store", "port2", PLAN),
        ("agent", "edit", "port2", {"valid_from": -1}),
        ("", "undo", 0),
    ),
    # Undos that are offered and refused, or do something else.
    "undo of a store after an expiry is refused": found(
        "undo of store is offered and refused",
        "",
        ("agent", "store", "port", {"expires_at": 1}),
        ("job", "days", 2),
        ("agent", "store", "port", {}),
        ("", "undo", 0),
        also=("undo of * is offered and refused",),
    ),
    "undo of restoring a version under a retracted one is refused": found(
        "undo of restore is offered and refused",
        "",
        ("agent", "store", "port", {}),
        ("agent", "edit", "port", {"content": "garage"}),
        ("agent", "retract", "garage"),
        ("agent", "restore", "port"),
        ("", "undo", 0),
    ),
    "undo of retracting what was forgotten is refused": found(
        "undo of retract is offered and refused",
        "",
        ("agent", "store", "port", {}),
        ("agent", "forget", "port"),
        ("agent", "retract", "port"),
        ("", "undo", 0),
    ),
    "undo of a confirmed retraction is refused": found(
        "undo of reject is offered and refused",
        "",
        ("agent", "store", "port", {}),
        ("agent", "retract", "port"),
        ("curator", "reject", "port"),
        ("", "undo", 0),
    ),
    "undo of forget lifts an end": found(
        "undo of forget leaves a withdrawn memory live",
        "",
        ("agent", "store", "port", {"expires_at": 0.5}),
        ("agent", "forget", "port"),
        ("job", "days", 0.8),
        ("", "undo", 0),
    ),
    "undo of restoring one's retraction loses the tombstone": found(
        "undo of restore leaves a tombstone",
        "",
        ("agent", "store", "port", {}),
        ("agent", "retract", "port", "garage"),
        ("agent", "restore", "port"),
        ("", "undo", 0),
    ),
    "undo of rejecting what was quarantined keeps the tombstone": found(
        "undo of reject leaves a tombstone",
        "",
        ("agent", "store", "order", {}),
        ("curator", "reject", "order"),
        ("", "undo", 0),
        also=("undo of review reject leaves a tombstone", "undo of review many leaves a tombstone"),
    ),
    "undo of a store that met a candidate leaves its link": found(
        "undo of store leaves a link",
        "",
        ("curator", "store", "nases", {}),
        ("second", "store", "nas", {}),
        ("second", "store", "nases", {"supersedes": "nas"}),
        ("", "undo", 0),
        policy="all",
        also=("undo of * leaves a link",),
    ),
    "undo of a quarantine links what comes back to what an import did not compare": found(
        "undo of quarantine leaves a link",
        "",
        ("import", "import", {"line 1": "port2", "line 2": "port"}, "garden"),
        ("curator", "quarantine", "port2/first"),
        ("", "undo", 0),
    ),
    "undo of an edit links the former text to what an import did not compare": found(
        "undo of edit leaves a link",
        "",
        ("second", "store", "nases", {"scope": "global"}),
        ("import", "import", {"line 1": "nases", "line 2": "port"}, "garden"),
        ("agent", "edit", "nases", {"content": "disk"}),
        ("agent", "undo", 0),
    ),
    "what comes back rejected is compared once it counts": found(
        "undo of store leaves a link",
        "",
        ("curator", "store", "port2", {}),
        ("import", "import", {"line 1": "port"}, "ledger"),
        ("curator", "pin", "port2"),
        ("curator", "review", "reject", "port"),
        ("second", "store", "port2", {"supersedes": "port"}),
        ("", "undo", 0),
    ),
    "undo of a retraction links what comes back to what an import did not compare": found(
        "undo of retract leaves a link",
        "",
        ("import", "import", {"line 1": "nases", "line 2": "nas"}, "garden"),
        ("agent", "retract", "nas"),
        ("", "undo", 0),
    ),
    "undo of storing an event that supersedes itself is refused": found(
        "undo of store is offered and refused",
        "",
        ("agent", "store", "altos", {}),
        ("agent", "store", "altos", {"supersedes": "altos"}),
        ("", "undo", 0),
    ),
    "undo of a confirmed retraction in the Review is refused": found(
        "undo of review reject is offered and refused",
        "",
        ("agent", "store", "port", {}),
        ("agent", "retract", "port"),
        ("curator", "review", "reject", "port"),
        ("", "undo", 0),
    ),
    # What the doctor sees.
    "a decided link keeps the end of a chain that was joined": found(
        "the doctor: orphans",
        "",
        ("curator", "store", "altos", {}),
        ("import", "import", {"line 1": "garage"}, "ledger"),
        ("agent", "store", "altos", {"supersedes": "altos"}),
        ("curator", "review link", "supersede", 0),
        policy="agents",
    ),
    # What ten thousand histories found.
    "a text in quarantine takes no place in a thread": found(
        "store fails with IntegrityError",
        "",
        ("agent", "store", "Bruno", {"thread": "t"}),
        ("agent", "store", "order", {"supersedes": "Bruno"}),
    ),
    "an import finds what counts until a plan's day": found(
        "retract fails with IntegrityError",
        "",
        ("curator", "store", "port", {"valid_from": 30}),
        ("import", "import", {"line 1": "port2"}, "ledger"),
        ("import", "import", {"line 1": "port", "line 2": "port2"}, "ledger"),
        ("agent", "retract", "port"),
    ),
    "an edit of the type opens a quarantine": found(
        "undo of retract leaves less trust",
        "",
        ("agent", "store", "order", {}),
        ("second", "edit", "order/first", {"type": "procedural"}),
        ("agent", "retract", "order"),
        ("", "undo", 0),
    ),
    "what was rejected comes back in quarantine": found(
        "undo of edit leaves less trust",
        "",
        ("curator", "store", "order", {}),
        ("curator", "reject", "order"),
        ("agent", "edit", "order", {"type": "procedural"}),
        ("", "undo", 0),
    ),
    "a tombstone that grew stronger gets its memory back": found(
        "undo of retract leaves a tombstone",
        "",
        ("agent", "store", "altos2", {}),
        ("curator", "reject", "altos2"),
        ("agent", "edit", "altos2", {"type": "semantic"}),
        ("second", "retract", "altos2/first"),
        ("", "undo", 0),
    ),
    "an undo hides what another agent changed since": found(
        "undo of restore takes back what others did since",
        "",
        ("agent", "store", "port", {}),
        ("curator", "store", "PORT", {"supersedes": "port"}),
        ("second", "restore", "port"),
        ("agent", "edit", "PORT", {"anchor_commit": "abc1234"}),
        ("second", "undo", 1),
    ),
    "the undo of one decision takes back many": found(
        "undo of review quarantine is offered and refused",
        "",
        ("second", "store", "run", {}),
        ("curator", "store", "altos2", {}),
        ("curator", "review many", "quarantine", "run", "altos2"),
        ("", "undo", 0),
    ),
    "a wording of a candidate counts when it is restored": found(
        "restore by an agent makes a text active",
        "",
        ("curator", "store", "port", {}),
        ("import", "import", {"line 1": "port"}, "ledger"),
        ("agent", "forget", "port"),
        ("agent", "restore", "port"),
        policy="all",
    ),
    "a plan that is withdrawn with its wording leaves a hole": found(
        "retract ends a plan and not the end of what it was to replace",
        "",
        ("agent", "store", "nas", {}),
        ("second", "edit", "nas", {"type": "procedural"}),
        ("agent", "store", "nas", {"supersedes": "nas", "valid_from": 5}),
        ("import", "import", {"line 1": "nas"}, "ledger"),
        ("second", "retract", "nas"),
    ),
    "an undo of an undo meets the version that carried it on": found(
        "undo of undo of undo of store is offered and refused",
        "",
        ("curator", "store", "Anna", {}),
        ("agent", "store", "Anna", {}),
        ("agent", "edit", "Anna/first", {"type": "episodic"}),
        ("", "undo", 1),
        ("agent", "undo", 0),
        ("", "undo", 0),
    ),
    "a candidate that is retracted takes a copy that counts with it": found(
        "undo of retract is offered and refused",
        "",
        ("second", "store", "port", {}),
        ("agent", "edit", "port", {"type": "procedural"}),
        ("agent", "store", "port", {}),
        ("curator", "approve", "port/first"),
        ("agent", "retract", "port", "Anna"),
        ("", "undo", 0),
        policy="agents",
    ),
    "a retracted text counts until the day of a plan with the same words": found(
        "retract ends a plan and not the end of what it was to replace",
        "",
        ("agent", "store", "PORT", {}),
        ("second", "store", "port", {"supersedes": "PORT", "valid_from": 5}),
        ("agent", "retract", "PORT"),
    ),
    "a quarantined memory has no context until it is released": found(
        "the doctor: contexts",
        "",
        ("agent", "store", "order", {"thread": "t"}),
        ("second", "store", "port", {"thread": "t"}),
        ("curator", "approve", "order"),
    ),
    "an agent restores the words that a person rejected in a later version": found(
        "restore by an agent makes a text active",
        "",
        ("agent", "store", "nas", {"type": "episodic"}),
        ("curator", "store", "nas", {"supersedes": "nas"}),
        ("curator", "reject", "nas"),
        ("second", "restore", "nas/first"),
    ),
    "two memories with the same words that are quarantined together bar each other": found(
        "undo of review quarantine is offered and refused",
        "",
        ("agent", "store", "port", {}),
        ("second", "store", "PORT", {"type": "episodic"}),
        ("curator", "review many", "quarantine", "port", "PORT"),
        ("", "undo", 0),
        ("", "undo", 0),
    ),
    "a candidate is rejected whose words count in another memory": found(
        "import by import makes a text active",
        "",
        ("curator", "store", "altos", {}),
        ("second", "store", "altos", {}),
        ("curator", "review many", "reject", "altos"),
        ("import", "import", {"line 1": "altos", "line 2": "altos"}, "ledger"),
        policy="agents",
    ),
    "what comes back before its day is not compared": found(
        "undo of store leaves a link",
        "",
        ("curator", "store", "nases", {"valid_from": 30}),
        ("second", "store", "nas", {}),
        ("curator", "store", "nases", {"supersedes": "nases", "type": "episodic"}),
        ("", "undo", 0),
    ),
    # Crashes.
    "a file brings a text that was retracted as a former version": found(
        "import fails with ValueError",
        "",
        ("curator", "store", "port", {}),
        ("agent", "store", "port2", {"supersedes": "port"}),
        ("agent", "retract", "port2/first"),
        ("import", "import", {"line 1": "port"}, "ledger"),
        ("import", "import", {"line 1": "altos"}, "ledger"),
    ),
    "valid_to before the day of the supersede": found(
        "store fails with IntegrityError",
        "",
        ("agent", "store", "port", {}),
        ("agent", "store", "garage", {"supersedes": "port", "valid_to": -10}),
    ),
}


def is_known(kind: str) -> bool:
    """True for a kind of fault that is not mended yet."""
    return any(
        fnmatchcase(kind, pattern)
        for each in FOUND.values()
        if each.why
        for pattern in (each.kind, *each.also)
    )
