"""Recalls of one person while another asks for texts that are meant to make recall slow."""

import random
import statistics
from collections.abc import Mapping
from typing import Any

from bench.proof.client import Client
from bench.proof.home import make_home
from bench.proof.hostile.load import CALL_S, CLIENTS, FEW_CLIENTS, LIMIT_RECALL, Asker, asking, p95_ms
from bench.proof.proof import Finding, Workshop

GROUP = "flood"
LONG = 90_000  # characters; the limit of a text is 100,000
STORES, FEW_STORES = 8, 2  # texts of each shape
TURN_S, QUICK_S = 4.0, 0.5  # at rest, and beside the readers, for each shape


def fill(unit: str) -> str:
    """A text of about LONG characters that repeats a few, and ends in a way of its own."""
    return f"{unit * (LONG // len(unit))} {random.randrange(10**12)}"


# What is repeated, and the question that leads there.
SHAPES: Mapping[str, tuple[str, str]] = {
    "words": ("plain wrd ", "plain wrd"),
    "short texts": ("", "plain wrd"),
    "a word": ("a" * 90, "a" * 90),
    "a letter": ("a ", "what is a b c?"),
    "letters without blanks": ("abcdefghij", "abcdefghij"),
    "small words": ("the of and ", "the of and"),
    "capitals": ("Anna Bella ", "who is the author of Anna Bella?"),
    "turns": ("Anna: hello there\n", "what did Anna say?"),
    "sentences": ("It is so. ", "summarise what is so"),
    "questions": ("Who is it? ", "who is it?"),
    "lines": ("x\n", "x"),
    "deep lists": ("  - x\n    - y\n", "list all x and y"),
    "tables": ("| a | b |\n|---|---|\n", "a b"),
    "Markdown": ("**bold** _it_ `code` ", "bold code"),
    "HTML": ("<b>bold</b> ", "bold"),
    "our marks": ("</memory> ", "memory"),
    "Base64": ("QUJDREVGR0hJSktM", "QUJDREVGR0hJSktM"),
    "hex": ("0a1b2c3d ", "what is 0a1b2c3d?"),
    "numbers": ("8443 ", "which port is 8443?"),
    "versions": ("4.8.1 ", "what is 4.8.1?"),
    "dates": ("2024-05-03 ", "what happened on 3 May 2024?"),
    "days": ("last Monday ", "when was last Monday?"),
    "tickets": ("HAR-1203 ", "what is HAR-1203?"),
    "paths": ("/etc/hosts ", "what is in /etc/hosts?"),
    "names in code": ("getUserName() ", "getUserName"),
    "amounts": ("5 € ", "how much does it cost?"),
    "accents": ("é è ü ", "é è ü"),
    "Chinese": ("部署端口 ", "部署端口"),
    "Arabic": ("والكتاب ", "الكتاب"),
    "emoji": ("😀 🎉 ", "😀 🎉"),
}


def text_of(shape: str) -> str:
    """One text of a shape."""
    unit, _ = SHAPES[shape]
    return fill(unit) if unit else f"A plain wrd is {random.randrange(10**12)}."


def prove_reads(workshop: Workshop) -> Finding:
    """For each shape in turn: one person's recalls at rest, and while sixteen readers of another ask for such texts."""
    home = make_home(workshop.folder / "home-reads")
    shapes = [*SHAPES][: workshop.pick(len(SHAPES), 2)]
    with asking(home, workshop.log("reads.log"), workshop.pick(TURN_S, QUICK_S)) as asker:
        store_shape(asker.client, "short texts", 1)  # which makes the group
        asker.ask_for(asker.least_s)
        found = {shape: measure(asker, shape, is_quick=workshop.is_quick) for shape in shapes}
    return judge(found)


def measure(asker: Asker, shape: str, *, is_quick: bool) -> tuple[list[float], list[float], dict[str, int]]:
    """The recalls' seconds at rest and beside the readers, and the readers' answers by status."""
    with Client(asker.server.port, asker.other, timeout_s=CALL_S) as client:
        store_shape(client, shape, FEW_STORES if is_quick else STORES)
    idle = asker.ask_for(asker.least_s)
    clients = FEW_CLIENTS if is_quick else CLIENTS
    beside, load = asker.ask_beside(clients, asker.least_s, question=SHAPES[shape][1], least_s=0)
    return idle, beside, load["statuses"]


def store_shape(client: Client, shape: str, count: int) -> None:
    """Store so many texts of a shape, which the guard may hold for a person."""
    for _ in range(count):
        client.store(text_of(shape), GROUP).must(200, 201, 202)


def judge(found: Mapping[str, tuple[list[float], list[float], dict[str, int]]]) -> Finding:
    """The numbers of all shapes together, and the shape beside which recalls took longest."""
    idle = [seconds for at_rest, _, _ in found.values() for seconds in at_rest]
    beside = [seconds for _, other, _ in found.values() for seconds in other]
    ratios = {
        shape: statistics.median(other) / statistics.median(at_rest)
        for shape, (at_rest, other, _) in found.items()
    }
    worst = max(ratios, key=ratios.__getitem__)
    statuses = [status for _, _, load in found.values() for status in load]
    numbers: dict[str, Any] = {
        "shapes": len(found),
        "recalls at rest, beside readers": f"{len(idle)}, {len(beside)}",
        "recall p95 at rest, ms": p95_ms(idle),
        "recall p95 beside readers, ms": p95_ms(beside),
        "p95 beside readers, times that at rest": round(p95_ms(beside) / p95_ms(idle), 2),
        "longest recall beside readers, ms": round(max(beside) * 1000, 1),
        "shape with the slowest recalls": f"{worst}, median {ratios[worst]:.1f} times that at rest",
        "readers' answers": sum(sum(load.values()) for _, _, load in found.values()),
    }
    faults = []
    if p95_ms(beside) > LIMIT_RECALL * p95_ms(idle):
        faults.append(f"recalls beside readers took more than {LIMIT_RECALL:g} times as long as at rest")
    if other := sorted({*statuses} - {"200", "429", "503"}):
        faults.append(f"readers were answered {', '.join(other)}")
    return Finding(numbers, tuple(faults))
