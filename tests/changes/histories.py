"""Random histories: made from a seed, run against the oracle, minimised, and printed as a test."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pprint import pformat
from random import Random
from typing import Any, Final

from django.db import DatabaseError, transaction

from access.errors import LociError
from tests.changes.faults import Fault
from tests.changes.oracle import (
    Oracle,
    Undoable,
    log_is_whole,
    nothing_hidden_is_recalled,
    nothing_hidden_is_shown,
    store_is_well,
    undo_is_not_refused,
    undo_restores,
)
from tests.changes.rows import Rows, read_rows
from tests.changes.rules import refusal_changes_nothing
from tests.changes.steps import Kept, take, take_back_offer
from tests.changes.world import TEXTS, Nothing, Step, World, new_world

POLICIES: Final = ("none", "none", "below", "agents", "all")
AGENTS: Final = ("agent", "agent", "second")
LENGTHS: Final = (2, 4, 6, 8, 10, 12)
# How often chance takes each step.
WEIGHTS: Final = {
    "store": 16, "edit": 8, "forget": 3, "restore": 4, "retract": 5, "dispute": 2, "pin": 2, "merge": 2, "supersede": 4,
    "relate": 2, "checkpoint": 1, "undo": 24, "verify": 2, "approve": 1, "reject": 1, "quarantine": 1, "unpin": 1, "purge": 1,
    "lift": 1, "move": 2, "review": 2, "review two": 1, "review edit": 1, "review many": 1, "review link": 2,
    "review proposal": 3, "import": 6, "cycle": 2, "retention": 1, "days": 5,
}  # fmt: skip
JUDGED: Final = ("verify", "approve", "reject", "quarantine", "unpin", "purge", "lift")  # by curators
BY_AGENTS: Final = (
    "store", "edit", "forget", "restore", "retract", "dispute", "pin", "merge", "supersede", "relate", "checkpoint", "undo",
)  # fmt: skip
PAIRS: Final = tuple((one, other) for one in BY_AGENTS for other in BY_AGENTS)
FIELDS: Final = {
    "type": ("semantic", "episodic", "procedural"),
    "group": ("ledger", "garden", "vault"),
    "scope": ("global", "group"),
    "thread": ("t",),
    "tags": (("red",), ("red", "blue"), ()),
    "metadata": ({"ticket": 7}, {}),
    "confidence": (0.03, 0.3, 0.95),
    "importance": (1, 9, 10),
    "source": ("minutes", "https://example.com/page"),
    "valid_from": (-400, -30, -1, 5, 30),
    "valid_to": (-10, 3, 60),
    "expires_at": (1, 10, 60),
    "outside": (True,),
    "anchor_commit": ("abc1234",),
}
STORED: Final = (*FIELDS, "supersedes", "supersedes", "supersedes", "valid_from")
EDITED: Final = (
    "content", "content", "content", "type", "valid_from", "tags", "importance", "expires_at", "metadata", "anchor_commit",
)  # fmt: skip


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
    return History(
        Random(seed).choice(POLICIES), tuple(make_steps(Random(f"steps {seed}"), PAIRS[seed % len(PAIRS)]))
    )


def make_steps(chance: Random, pair: tuple[str, str]) -> Iterator[Step]:
    """Steps about few texts, so that they meet; somewhere an agent does the two things of the pair after each other."""
    texts = chance.sample(list(TEXTS), k=chance.choice((2, 3, 4)))
    if chance.random() < 0.5:  # near pairs, more often than chance has them
        texts[:2] = chance.choice(
            (("port", "port2"), ("port", "PORT"), ("nas", "nases"), ("altos", "altos2"))
        )
    known = Texts(texts)
    yield make_step(chance, known, "store")
    length = chance.choice(LENGTHS)
    place = chance.randrange(length)
    for at in range(length):
        if at == place:
            yield from (make_step(chance, known, verb, chance.choice(AGENTS)) for verb in pair)
        yield make_step(chance, known, chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0])


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


def fields_of(chance: Random, texts: Texts, names: Sequence[str], most: int) -> dict[str, Any]:
    """A few fields of a draft or an edit."""
    choices: dict[str, Sequence[Any]] = FIELDS | {
        "supersedes": texts.written or texts.all,
        "content": texts.all,
    }
    chosen = chance.sample(names, k=chance.randint(0, most))
    found = {name: chance.choice(choices[name]) for name in chosen}
    if "content" in found:
        texts.written.append(found["content"])
    return found


def make_step(chance: Random, texts: Texts, verb: str, who: str = "") -> Step:
    """A step with this verb, with arguments that chance chooses."""
    who = who or chance.choice((*AGENTS, "curator"))
    pick = chance.choice
    match verb:
        case "store":
            fields = fields_of(chance, texts, STORED, 4)
            fields |= {"position": pick((0, 3))} if "thread" in fields and chance.random() < 0.3 else {}
            return (who, verb, texts.write(chance), fields)
        case "edit":
            return (
                who,
                verb,
                texts.target(chance),
                fields_of(chance, texts, EDITED, 3) or {"content": texts.write(chance)},
            )
        case "retract":
            return (who, verb, texts.target(chance), *pick(((), (), (pick(texts.all),))))
        case "merge":
            return (
                who,
                verb,
                texts.target(chance),
                texts.target(chance),
                *pick(((), (), (pick(texts.all),))),
            )
        case "supersede":
            return (who, verb, texts.target(chance), texts.target(chance))
        case "relate":
            return (
                who,
                verb,
                *pick((("Anna", "Bruno"), ("Bruno", "Anna"))),
                *pick(((), (texts.target(chance),))),
            )
        case "checkpoint":
            return (who, verb, pick(("", "t")))
        case "undo":
            return (pick(("", "", "", "", "", "", "", who)), verb, pick((0, 0, 0, 1, 2)))
        case "move":
            return ("curator", verb, texts.target(chance), pick(("garden", "vault", "ledger")))
        case "import":
            refs = pick((("line 1",), ("line 1",), ("line 1", "line 2")))
            return (
                "import",
                verb,
                {ref: texts.write(chance) for ref in refs},
                pick(("ledger", "ledger", "garden")),
            )
        case "days":
            return ("job", verb, pick((0.1, 2, 7, 40, 200)))
        case "cycle":
            return ("job", verb, *pick(((), (), (), (0,), (0.1,), (0.5,))))
        case "retention":
            return ("job", verb)
        case "review link":
            return ("curator", verb, pick(("dismiss", "merge", "supersede")), pick((0, 1)))
        case "review proposal":
            return ("curator", verb, pick(("approve", "approve", "reject")), pick((0, 1)))
        case "review many":
            judged = pick(("approve", "reject", "quarantine", "keep"))
            return ("curator", verb, judged, *dict.fromkeys(texts.target(chance) for _ in range(2)))
        case "review two":
            return (
                "curator",
                "review",
                pick(("merge", "supersede")),
                texts.target(chance),
                texts.target(chance),
            )
        case "review edit":
            return ("curator", "review", "edit", texts.target(chance), "", texts.write(chance))
        case "review":
            return (
                "curator",
                verb,
                pick(("approve", "approve", "reject", "quarantine")),
                texts.target(chance),
            )
    return ("curator" if verb in JUDGED else who, verb, texts.target(chance))


# Running one.


def run_history(history: History, *, is_whole: bool = False) -> Run:
    """Run a history in empty tables, up to its first fault, and leave nothing behind.

    `is_whole`: real recalls and the doctor look at the end as well.
    """
    run = Run()
    with transaction.atomic(), new_world(history.policy) as world:
        walk = Walk(world, run)
        for step in history.steps:
            run.fault = next(walk.take(step), None)
            if run.fault is not None:
                break
        else:
            run.fault = next(walk.last_look(is_whole=is_whole), None)
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
        verb: str = step[1]
        undone, thief = None, ""
        if verb == "undo":
            if not self.offers:
                return
            undone = self.offers[-1 - step[2] % len(self.offers)]
            thief = step[0] if step[0] != undone.offer.who else ""
            step = (step[0] or undone.offer.who, f"undo of {undone.offer.what}")
        try:
            with transaction.atomic():
                offers = (
                    take_back_offer(self.world, undone.offer, thief) if undone else take(self.world, step)
                )
        except Nothing:
            return
        except LociError as refusal:
            self.run.refused += 1
            self.note_pair(step[0], verb)
            if undone and not thief:
                self.offers.remove(undone)
                yield from undo_is_not_refused(undone, before, refusal.message)
            yield from refusal_changes_nothing(step, before, self.rows())
            return
        except Kept as kept:  # the rest was taken back, and is rolled back here
            if undone and not thief:
                self.offers.remove(undone)
                yield from undo_is_not_refused(undone, before, str(kept))
            return
        except (DatabaseError, AssertionError, ValueError, KeyError, AttributeError, TypeError) as error:
            yield Fault(f"{step[1]} fails with {type(error).__name__}", str(error)[:200])
            return
        after = self.seen = self.rows()
        self.run.steps += 1
        self.run.undone += undone is not None
        self.note_pair(step[0], verb)
        if undone:
            self.offers.remove(undone)
            if thief and undone.offer.hours is not None:
                yield Fault(f"{step[1]} is carried out for another token", thief)
            yield from undo_restores(undone, before, after)
        for offer in self.offers:
            offer.note(step[0], before, after)
        yield from self.oracle.judge(self.world, step, before, after)
        self.offers += [Undoable(offer, before, after) for offer in offers]

    def rows(self) -> Rows:
        """The tables now."""
        return read_rows(self.world.now())

    def note_pair(self, who: str, verb: str) -> None:
        """Count what agents do after each other, refusals too."""
        if who in AGENTS:
            if self.last_by_agents:
                self.run.pairs[self.last_by_agents, verb] += 1
            self.last_by_agents = verb

    def last_look(self, *, is_whole: bool) -> Iterator[Fault]:
        """What is looked at once, at the end."""
        yield from nothing_hidden_is_recalled(self.world, self.rows())
        yield from log_is_whole()
        if is_whole:
            yield from nothing_hidden_is_shown(self.world, self.rows())
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
