"""Proof: what is nearly the same stays two facts, what says the same in other words is found."""

import re
from functools import partial
from typing import Any

from bench.proof.home import make_home, open_home
from bench.proof.proof import REPOSITORY, Finding, Workshop
from tests.memories.near_pairs import near_pairs

PARAPHRASES = REPOSITORY / "tests" / "memories" / "store" / "data" / "paraphrases.tsv"
MODES = ("guarded", "overwrite")
FOUND_AT_LEAST = 0.9  # of the paraphrases
PAIRS_AT_ONCE = 90
SENTENCES = 1_000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=[-|#\d])")
Pair = tuple[str, str]


def prove_duplicates(workshop: Workshop) -> Finding:
    """Store all pairs through store(), for each setting of storage.dedup in a home of its own."""
    opened = open_home if workshop.done() else make_home
    homes = {mode: opened(workshop.folder / f"home-{mode}") for mode in MODES}

    def store(mode: str, pairs: list[Pair]) -> dict[str, Any]:
        seen: dict[str, Any] = homes[mode].ask("duplicates.store", told={"dedup": mode, "pairs": pairs})
        return seen

    steps = _steps(every=workshop.pick(1, 10))
    found = workshop.steps({name: partial(store, *step) for name, step in steps.items()})
    return Finding(_numbers(found), tuple(_faults(found)))


def _steps(*, every: int) -> dict[str, tuple[str, list[Pair]]]:
    """The parts of the proof: the setting that each is stored under, and its pairs."""
    templates: dict[str, list[Pair]] = {}
    for pair in near_pairs():
        templates.setdefault(pair.template, []).append((pair.old, pair.new))
    lines = [line.split("\t") for line in PARAPHRASES.read_text(encoding="utf-8").splitlines()]
    same = [(old, new) for old, new in lines]
    steps = {}
    for mode in MODES:
        # Not every tenth: that would be one and the same filling of each frame.
        steps |= {
            f"{mode}: {name}": (mode, pairs[:: every + (every > 1)]) for name, pairs in templates.items()
        }
        steps |= {
            f"{mode}: paraphrases {at + 1}–{at + 100}": (mode, same[at : at + 100 : every])
            for at in range(0, len(same), 100)
        }
    read = _read_sentences()[: SENTENCES // every]
    pages = [(one, other) for one, other in zip(read[::2], read[1::2], strict=False)]
    for at in range(0, len(pages), PAIRS_AT_ONCE):
        steps[f"guarded: pages {at}"] = ("guarded", pages[at : at + PAIRS_AT_ONCE])
    return steps


def _read_sentences() -> list[str]:
    """Distinct sentences of this repository's own pages, as text that nobody wrote for this purpose."""
    found: dict[str, None] = {}
    for page in sorted((REPOSITORY / "docs").rglob("*.md")):
        for part in _SENTENCE_END.split(page.read_text(encoding="utf-8")):
            sentence = " ".join(part.split())
            if 40 <= len(sentence) <= 300 and sentence.endswith(".") and "|" not in sentence:
                found[sentence] = None
    return list(found)


def _sum(found: dict[str, Any], start: str, what: str) -> int:
    return sum(int(step[what]) for name, step in found.items() if name.startswith(start))


def _numbers(found: dict[str, Any]) -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    for mode in MODES:
        for name, step in found.items():
            if _is_template(name, mode):
                numbers[f"{name}, {step['pairs']} pairs"] = (
                    f"{step['lost']} {'lost' if mode == MODES[0] else 'merged away'}, {step['duplicates']} linked as duplicates, {step['conflicts']} as conflicts"
                )
        for what in ("duplicates", "conflicts"):
            numbers[f"{mode}: texts of two pairs linked as {what}"] = _across(found, mode, what)
        start = f"{mode}: paraphrases"
        pairs = _sum(found, start, "pairs")
        for what in ("reinforced", "duplicates", "conflicts"):
            numbers[f"{start}, of {pairs} {what}"] = _sum(found, start, what)
        numbers[f"{start}, found"] = f"{_found_share(found, mode):.1%}"
    numbers["sentences of these pages stored"] = 2 * _sum(found, "guarded: pages", "pairs")
    for what in ("lost", "all_duplicates", "all_conflicts"):
        words = what.replace("all_", "linked as ")
        numbers[f"sentences of these pages: {words}"] = _sum(found, "guarded: pages", what)
    return numbers


def _is_template(step: str, mode: str) -> bool:
    return step.startswith(f"{mode}: ") and "paraphrases" not in step and "pages" not in step


def _across(found: dict[str, Any], mode: str, what: str) -> int:
    """Count the links between texts of different pairs, all of which are facts of their own."""
    steps = [step for name, step in found.items() if _is_template(name, mode)]
    return sum(int(step[f"all_{what}"] - step[what]) for step in steps)


def _found_share(found: dict[str, Any], mode: str) -> float:
    start = f"{mode}: paraphrases"
    ties = _sum(found, start, "reinforced") + _sum(found, start, "duplicates")
    return ties / max(1, _sum(found, start, "pairs"))


def _faults(found: dict[str, Any]) -> list[str]:
    faults = [
        f"{name}: lost {text!r}"
        for name, step in found.items()
        if name.startswith("guarded") and "paraphrases" not in name
        for text in step["lost_texts"]
    ]
    for mode in MODES:
        share = _found_share(found, mode)
        if share < FOUND_AT_LEAST:
            faults.append(f"{mode}: only {share:.1%} of the paraphrases were reinforced or linked")
    unkept = sum(int(step["unkept"]) for step in found.values())
    return [*faults, f"{unkept} texts are nowhere"] if unkept else faults
