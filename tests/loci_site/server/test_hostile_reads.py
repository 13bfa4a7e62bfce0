"""Recalls of one person while another asks for texts that are meant to make recall slow: `make proof hostile-reads` tries all shapes."""

import random
import statistics
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.proof.client import Client
from bench.proof.home import make_home
from tests.loci_site.server.test_hostile_load import CALL_S, LIMIT_RECALL, asking, p95_ms
from tests.sizes import pick, report

pytestmark = [
    pytest.mark.model,
    pytest.mark.server,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("prepared_home"),
]
GROUP = "flood"
LONG = 90_000  # characters; the limit of a text is 100,000
STORES = pick(8, 2)  # texts of each shape
TURN_S = pick(4.0, 0.5)  # at rest, and beside the readers, for each shape


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


def store_shape(client: Client, shape: str, count: int) -> None:
    """Store so many texts of a shape, which the guard may hold for a person."""
    for _ in range(count):
        client.store(text_of(shape), GROUP).must(200, 201, 202)


def test_recalls_go_on_while_another_person_asks_for_hostile_texts(tmp_path: Path) -> None:
    """For each shape in turn: one person's recalls at rest, and while readers of another ask for such texts."""
    shapes = [*SHAPES][: pick(len(SHAPES), 2)]
    idle: dict[str, list[float]] = {}
    beside: dict[str, list[float]] = {}
    statuses: Counter[str] = Counter()
    with asking(make_home(tmp_path / "home"), tmp_path / "server.log") as asker:
        store_shape(asker.client, "short texts", 1)  # which makes the group
        asker.ask_for(TURN_S)
        for shape in shapes:
            with Client(asker.server.port, asker.other, timeout_s=CALL_S) as client:
                store_shape(client, shape, STORES)
            idle[shape] = asker.ask_for(TURN_S)
            beside[shape], load = asker.ask_beside(TURN_S, question=SHAPES[shape][1], least_s=0)
            statuses.update(load["statuses"])
    ratios = {shape: statistics.median(beside[shape]) / statistics.median(idle[shape]) for shape in shapes}
    worst = max(ratios, key=ratios.__getitem__)
    at_rest, under_load = sum(idle.values(), list[float]()), sum(beside.values(), list[float]())
    report(
        {
            "shapes": len(shapes),
            "recalls at rest, beside readers": f"{len(at_rest)}, {len(under_load)}",
            "recall p95 at rest, ms": p95_ms(at_rest),
            "recall p95 beside readers, ms": p95_ms(under_load),
            "longest recall beside readers, ms": round(max(under_load) * 1000, 1),
            "shape with the slowest recalls": f"{worst}, median {ratios[worst]:.1f} times that at rest",
            "readers' answers": statuses.total(),
        }
    )
    assert statuses.total() >= len(shapes)
    assert statuses.keys() <= {"200", "429", "503"}
    assert p95_ms(under_load) <= LIMIT_RECALL * p95_ms(at_rest)
