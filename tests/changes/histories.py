"""Random histories: made from a seed, run against the oracle, minimised, and printed as a test."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pprint import pformat
from random import Random
from typing import Any, Final

from django.db import DatabaseError, transaction

from access.errors import LociError
from tests.changes.oracle import (
    Fault,
    Oracle,
    Undoable,
    first,
    log_is_whole,
    nothing_hidden_is_recalled,
    real_recall_agrees,
    refusal_changes_nothing,
    store_is_well,
    undo_is_not_refused,
    undo_restores,
)
from tests.changes.rows import Rows, read_rows
from tests.changes.world import TEXTS, Kept, Nothing, Step, World, new_world

POLICIES: Final = ("none", "none", "below", "agents", "all")
AGENTS: Final = ("agent", "agent", "second")
LENGTHS: Final = (4, 6, 8, 10, 12, 14)


@dataclass(frozen=True)
class History:
    """A policy of the group `ledger`, and steps: (who, verb, arguments …)."""

    policy: str
    steps: tuple[Step, ...]

    def as_test(self) -> str:
        """The history as it can be pasted into a test."""
        return f"History({self.policy!r}, {pformat(self.steps, width=110)})"


@dataclass
class Run:
    """What a history did: its fault, if it has one, the steps carried out, and the agents' verbs that met."""

    fault: Fault | None = None
    steps: int = 0
    refused: int = 0
    undone: int = 0
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)


# Making one.


def make_history(seed: int) -> History:
    """The history of a seed."""
    return History(Random(seed).choice(POLICIES), tuple(make_steps(Random(f"steps {seed}"))))


def make_steps(chance: Random) -> Iterator[Step]:
    """Steps about few texts, so that they meet; each begins with a text that is stored."""
    texts = chance.sample(list(TEXTS), k=chance.choice((2, 3, 4)))
    if chance.random() < 0.5:  # near pairs, more often than chance has them
        texts[:2] = chance.choice((("port", "port2"), ("port", "PORT"), ("nas", "nases"), ("altos", "altos2")))
    known = Texts(texts)
    yield store_step(chance, known)
    for _ in range(chance.choice(LENGTHS)):
        yield chance.choices(MAKERS, WEIGHTS)[0](chance, known)


@dataclass
class Texts:
    """The texts of one history, and those that a step has written."""

    all: Sequence[str]
    written: list[str] = field(default_factory=list)

    def write(self, chance: Random) -> str:
        """A text for a step to write."""
        text = chance.choice(self.all)
        self.written.append(text)
        return text

    def target(self, chance: Random) -> str:
        """A text that was written, or its oldest row."""
        return chance.choice(self.written) + chance.choice(("", "", "", "", "/first"))


def someone(chance: Random) -> str:
    """An actor that writes one text at a time."""
    return chance.choice((*AGENTS, "curator"))


def fields_of(chance: Random, texts: Texts, names: Sequence[str], most: int) -> dict[str, Any]:
    """A few fields of a draft or an edit."""
    choices: dict[str, Sequence[Any]] = {
        "type": ("semantic", "episodic", "procedural"),
        "group": ("ledger", "garden", "vault"),
        "scope": ("global", "group"),
        "thread": ("t",),
        "position": (0, 3),
        "tags": (("red",), ("red", "blue"), ()),
        "metadata": ({"ticket": 7}, {}),
        "confidence": (0.03, 0.3, 0.95),
        "importance": (1, 9, 10),
        "source": ("minutes", "https://example.com/page"),
        "supersedes": texts.written or texts.all,
        "valid_from": (-400, -30, -1, 5, 30),
        "valid_to": (-10, 3, 60),
        "expires_at": (1, 10, 60),
        "outside": (True,),
        "anchor_commit": ("abc1234",),
        "content": texts.all,
    }
    chosen = chance.sample(list(names), k=min(len(names), chance.randint(0, most)))
    return {name: chance.choice(choices[name]) for name in chosen}


STORED: Final = (
    "type", "group", "scope", "thread", "tags", "metadata", "confidence", "importance", "source", "supersedes", "supersedes",
    "supersedes", "valid_from", "valid_from", "valid_to", "expires_at", "outside", "anchor_commit",
)  # fmt: skip
EDITED: Final = (
    "content", "content", "content", "type", "valid_from", "tags", "importance", "expires_at", "metadata", "anchor_commit",
)  # fmt: skip


def store_step(chance: Random, texts: Texts) -> Step:
    fields = fields_of(chance, texts, STORED, 4)
    if fields.get("thread") and chance.random() < 0.3:
        fields["position"] = chance.choice((0, 3))
    return (someone(chance), "store", texts.write(chance), fields)


def edit_step(chance: Random, texts: Texts) -> Step:
    at, fields = texts.target(chance), fields_of(chance, texts, EDITED, 3)
    if "content" in fields or not fields:
        fields["content"] = texts.write(chance)
    return (someone(chance), "edit", at, fields)


def verb_step(chance: Random, texts: Texts) -> Step:
    verb = chance.choice(("forget", "forget", "restore", "restore", "dispute", "pin"))
    return (someone(chance), verb, texts.target(chance))


def retract_step(chance: Random, texts: Texts) -> Step:
    return (someone(chance), "retract", texts.target(chance), *chance.choice(((), (), (texts.write(chance),))))


def judge_step(chance: Random, texts: Texts) -> Step:
    verb = chance.choice(("verify", "verify", "approve", "reject", "quarantine", "unpin", "purge", "lift"))
    return ("curator", verb, texts.target(chance))


def pair_step(chance: Random, texts: Texts) -> Step:
    verb = chance.choice(("merge", "supersede", "supersede"))
    more = (texts.write(chance),) if verb == "merge" and chance.random() < 0.3 else ()
    return (someone(chance), verb, texts.target(chance), texts.target(chance), *more)


def move_step(chance: Random, texts: Texts) -> Step:
    return ("curator", "move", texts.target(chance), chance.choice(("garden", "vault", "ledger")))


def relate_step(chance: Random, texts: Texts) -> Step:
    proof = chance.choice(((), (texts.target(chance),)))
    return (someone(chance), "relate", *chance.choice((("Anna", "Bruno"), ("Bruno", "Anna"))), *proof)


def checkpoint_step(chance: Random, texts: Texts) -> Step:
    return (someone(chance), "checkpoint", chance.choice(("", "t")))


def review_step(chance: Random, texts: Texts) -> Step:
    match chance.randrange(6):
        case 0:
            return ("curator", "review link", chance.choice(("dismiss", "merge", "supersede")), chance.randrange(2))
        case 1:
            return ("curator", "review proposal", chance.choice(("approve", "approve", "reject")), chance.randrange(2))
        case 2:
            verb = chance.choice(("approve", "reject", "quarantine", "keep"))
            return ("curator", "review many", verb, *dict.fromkeys(texts.target(chance) for _ in range(2)))
        case 3:
            verb = chance.choice(("merge", "supersede"))
            return ("curator", "review", verb, texts.target(chance), texts.target(chance))
        case 4:
            return ("curator", "review", "edit", texts.target(chance), "", texts.write(chance))
    return ("curator", "review", chance.choice(("approve", "approve", "reject", "quarantine")), texts.target(chance))


def import_step(chance: Random, texts: Texts) -> Step:
    refs = chance.choice((("line 1",), ("line 1",), ("line 1", "line 2")))
    return ("import", "import", {ref: texts.write(chance) for ref in refs}, chance.choice(("ledger", "ledger", "garden")))


def job_step(chance: Random, texts: Texts) -> Step:
    return chance.choice((("job", "cycle"), ("job", "cycle"), ("job", "retention")))


def days_step(chance: Random, texts: Texts) -> Step:
    return ("job", "days", chance.choice((0.1, 2, 7, 40, 200)))


def undo_step(chance: Random, texts: Texts) -> Step:
    return ("", "undo", chance.choice((0, 0, 0, 1, 2)))


MAKERS: Final = (
    store_step, edit_step, verb_step, retract_step, judge_step, pair_step, move_step, relate_step, checkpoint_step, review_step,
    import_step, job_step, days_step, undo_step,
)  # fmt: skip
WEIGHTS: Final = (16, 8, 9, 5, 7, 6, 2, 2, 1, 8, 6, 3, 5, 24)


# Running one.


def run_history(history: History, *, tolerated: Sequence[str] = (), is_whole: bool = False) -> Run:
    """Run a history in empty tables, up to its first fault, and leave nothing behind.

    `is_whole`: real recalls and the doctor look at the end as well.
    """
    run = Run()
    with transaction.atomic(), new_world(history.policy) as world:
        walk = Walk(world, run)
        for step in history.steps:
            run.fault = first(walk.take(step))
            if run.fault is not None:
                break
        else:
            run.fault = first(walk.last_look(is_whole=is_whole))
        transaction.set_rollback(True)
    return run


@dataclass
class Walk:
    """A history under way."""

    world: World
    run: Run
    oracle: Oracle = field(default_factory=Oracle)
    offers: list[Undoable] = field(default_factory=list)
    seen: Rows | None = None  # the tables after the last step
    last_by_agents: str = ""

    def take(self, step: Step) -> Iterator[Fault]:
        """Take a step; yield its faults."""
        before = self.seen = self.rows() if self.seen is None else replace(self.seen, at=self.world.now())
        undone = self.offers.pop(-1 - step[2] % len(self.offers)) if step[1] == "undo" and self.offers else None
        if step[1] == "undo":
            if undone is None:
                return
            step = (undone.offer.who, f"undo of {undone.offer.what}")
        try:
            with transaction.atomic():
                offers = [] if undone else self.world.take(step)
                if undone:
                    undone.offer.carry_out()
        except Nothing:
            return
        except LociError as refusal:
            self.run.refused += 1
            if undone:
                yield from undo_is_not_refused(undone, before, refusal.message)
            yield from refusal_changes_nothing(step, before, self.rows())
            return
        except Kept as kept:  # the rest was taken back, and is rolled back here
            if undone:
                yield from undo_is_not_refused(undone, before, str(kept))
            return
        except (DatabaseError, AssertionError, ValueError, KeyError, AttributeError, TypeError) as error:
            yield Fault(f"{step[1]} fails with {type(error).__name__}", str(error)[:200])
            return
        after = self.seen = self.rows()
        self.note(step, undone)
        if undone:
            yield from undo_restores(undone, before, after)
        yield from self.oracle.judge(self.world, step, before, after)
        self.offers += [Undoable(offer, before, after) for offer in offers]

    def rows(self) -> Rows:
        """The tables now."""
        return read_rows(self.world.now())

    def note(self, step: Step, undone: Undoable | None) -> None:
        """Count the step."""
        self.run.steps += 1
        self.run.undone += undone is not None
        if step[0] in ("agent", "second"):
            if self.last_by_agents:
                self.run.pairs[self.last_by_agents, step[1]] += 1
            self.last_by_agents = step[1]

    def last_look(self, *, is_whole: bool) -> Iterator[Fault]:
        """What is looked at once, at the end."""
        yield from nothing_hidden_is_recalled(self.world, self.rows())
        yield from log_is_whole()
        if is_whole:
            yield from real_recall_agrees(self.world, self.rows())
            yield from store_is_well()


# Making it small.


def minimise(history: History, kind: str, *, is_whole: bool = False) -> History:
    """The smallest history that ddmin finds with a fault of the same kind: fewer steps, fewer fields, no policy."""

    def fails(steps: Sequence[Step], policy: str = history.policy) -> bool:
        fault = run_history(History(policy, tuple(steps)), is_whole=is_whole).fault
        return fault is not None and fault.kind == kind

    steps = fewer(list(history.steps), fails)
    for at, step in enumerate(steps):
        for number, argument in enumerate(step):
            if isinstance(argument, dict) and step[1] != "import":
                for name in list(argument):
                    argument = {key: value for key, value in argument.items() if key != name}
                    tried = [*steps[:at], (*step[:number], argument, *step[number + 1 :]), *steps[at + 1 :]]
                    if fails(tried):
                        steps, step = tried, tried[at]
                    else:
                        argument = step[number]
    policy = "none" if history.policy != "none" and fails(steps, "none") else history.policy
    return History(policy, tuple(steps))


def fewer(steps: list[Step], fails: Any) -> list[Step]:
    """Delta debugging: drop parts of the steps as long as the rest fails."""
    size = max(1, len(steps) // 2)
    while True:
        at = 0
        while at < len(steps):
            tried = steps[:at] + steps[at + size :]
            if tried and fails(tried):
                steps = tried
            else:
                at += size
        if size == 1:
            return steps
        size //= 2
