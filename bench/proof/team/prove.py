"""Proof: a team's curators decide hundreds of cards without waiting, however much is remembered."""

import json
from functools import partial
from statistics import quantiles
from typing import Any

from tqdm import tqdm

from bench.proof.client import Client
from bench.proof.home import make_home, open_home
from bench.proof.proof import Finding, ProofError, Workshop
from bench.proof.server import bad_lines, running
from bench.proof.team.person import Person

MEMORIES, ITEMS = 100_000, 500
FEW_MEMORIES, FEW_ITEMS = 1_000, 20  # to compare the number of queries with
ACTION_MS, PAGE_MS = 100.0, 200.0  # waited for, over the loopback: more than the server's own time
OPENED = 20  # times each page is opened
EFFECTS = 40  # cards of which recall before and after is asked
TAKEN_BACK = 20
BRANCHES = 2  # queries that hang on what a page has to show, such as whether anything is near; growth is never so small
Numbers = dict[str, Any]


def prove_team(workshop: Workshop) -> Finding:
    """Fill two stores, count the queries of their pages, and triage the large one over HTTP; in small, the large one alone."""
    memories, items = workshop.pick((MEMORIES, ITEMS), (80, 20))
    sizes = {"large": (memories, items), "small": (FEW_MEMORIES, FEW_ITEMS)}
    if workshop.is_quick:
        del sizes["small"]
    done = workshop.done()
    paths = {name: workshop.folder / f"home-{name}" for name in sizes}
    homes = {name: open_home(path) if name in done else make_home(path) for name, path in paths.items()}
    seeds = workshop.pick(str(workshop.folder / "seeds.npy"), "")
    fill = {
        name: partial(homes[name].ask, "proof.team.store:fill", count=count, items=waiting, seeds=seeds)
        for name, (count, waiting) in sizes.items()
    }
    found = workshop.steps(fill)
    large = homes["large"]
    counts = {name: seen["queries"] for name, seen in found.items()}
    log = workshop.folder / "server.txt"
    log.unlink(missing_ok=True)
    with running(large, log) as server, Client(server.port) as client:
        told = found["large"]
        client.log_in(told["user"], told["password"])
        client.open("/admin/review/")  # whose form's token is that of decisions
        person = Person(client, server)
        _open_pages(person, told["pages"], times=workshop.pick(OPENED, 2))
        _see_effects(person, count=workshop.pick(EFFECTS, 5))
        decided, entries = _triage(person, items)
        back = [person.send("undo", "/admin/review/undo/", {"entries": json.dumps([one])})
                for one in entries[: -TAKEN_BACK - 1 : -1]]  # fmt: skip
        left = len(person.deck())
    workshop.forget()  # the store was used up
    # In small it shows that all of it works; what it takes is measured in the whole.
    dear = [] if workshop.is_quick else [*_slow(person.took), *_grown(counts)]
    faults = [*dear, *bad_lines(log)]
    if decided != items or left != len(back):
        faults.append(f"{decided} of {items} were decided; after {len(back)} were taken back {left} wait")
    return Finding(_numbers(person, counts, memories=memories, decided=decided), tuple(faults))


def _open_pages(person: Person, pages: dict[str, str], *, times: int) -> None:
    """Open each page some times, the first time untimed: then the process has loaded what it needs."""
    cards = [f"/admin/review/card/{kind}/{id_}/" for kind, id_ in person.deck() if kind == "candidate"]
    for address in [*pages.values(), *cards[:3]]:
        person.open("warming up", address)
    person.took.clear()
    person.spent.clear()
    for _ in range(times):
        for name, address in pages.items():
            person.open(name, address)


def _see_effects(person: Person, *, count: int) -> None:
    for kind, id_ in [card for card in person.deck() if card[0] in ("candidate", "disputed")][:count]:
        verb = "approve" if kind == "candidate" else "reject"
        person.open("recall before and after", f"/admin/review/effect/?verb={verb}&id={id_}")


def _triage(person: Person, items: int) -> tuple[int, list[list[int]]]:
    """Decide all that waits, a deck after the other; give how many, and the rows that undo each."""
    entries = list[list[int]]()
    with tqdm(total=items, desc="team", unit="card") as bar:
        while cards := person.deck():
            for kind, id_ in cards:
                _, answer = person.decide(kind, id_, len(entries))
                entries.append(answer["entries"])
                bar.update()
            if len(entries) > 2 * items:
                raise ProofError("The deck does not end: what was decided comes back.")
    return len(entries), entries


def _slow(took: dict[str, list[float]]) -> list[str]:
    """Name what took longer than it may: 99 of 100 requests of each kind count."""
    return [
        f"{name}: the slowest in a hundred took {_nth(ms, 99):.0f} ms, more than {_limit(name):.0f}"
        for name, ms in took.items()
        if _nth(ms, 99) > _limit(name)
    ]


def _limit(name: str) -> float:
    return ACTION_MS if name == "card" or name.startswith(("decide", "undo")) else PAGE_MS


def _grown(counts: dict[str, dict[str, int]]) -> list[str]:
    small, large = counts["small"], counts["large"]
    return [
        f"{name}: {small[name]} queries in the small store, {large[name]} in the large one"
        for name in large
        if large[name] > small[name] + BRANCHES
    ]


def _worked(ms: list[float] | None) -> str:
    return f"; the server worked {_nth(ms, 50):.0f}, 99 of 100 within {_nth(ms, 99):.0f}" if ms else ""


def _nth(ms: list[float], nth: int) -> float:
    return quantiles(ms, n=100, method="inclusive")[nth - 1] if len(ms) > 1 else ms[0]


def _numbers(person: Person, counts: dict[str, dict[str, int]], *, memories: int, decided: int) -> Numbers:
    numbers: Numbers = {"memories": memories, "cards decided": decided}
    for name, ms in person.took.items():
        numbers[f"{name} ({len(ms)} times)"] = (
            f"{_nth(ms, 50):.0f} ms; 99 of 100 within {_nth(ms, 99):.0f}; at most {max(ms):.0f}"
            + _worked(person.spent.get(name))
        )
    for name, count in counts["large"].items():
        numbers[f"queries of the page: {name}"] = count
    return numbers
