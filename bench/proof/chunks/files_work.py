"""Asks in a process of its own, for files.py: memories alone, then files too; times are medians."""

import json
import statistics
import sys
import time
from typing import Any

import django


def main() -> None:
    """Read what to do from standard input and print what was found as JSON."""
    django.setup()
    from access.tokens import operator  # noqa: PLC0415 - settings are needed first
    from memories.draft import Draft  # noqa: PLC0415 - as above
    from memories.embedding import get_encoder  # noqa: PLC0415 - as above
    from memories.recall import RecallRequest, recall  # noqa: PLC0415 - as above
    from memories.store import store  # noqa: PLC0415 - as above
    from sources.artifacts.evidence import KINDS, recall_kinds  # noqa: PLC0415 - as above

    sent: dict[str, Any] = json.load(sys.stdin)
    get_encoder(timeout_s=120)
    actor = operator()
    for number in range(sent["memories"]):
        store(
            actor,
            Draft(
                f"Service s{number} is watched by team {number % 17} in hall {number % 29}.", group="proof"
            ),
        )
    questions = list(sent["questions"].values())
    own = [f"Which team watches service s{number}?" for number in range(0, 100, 4)]
    requests = [RecallRequest(text, group="proof", is_trial=True) for text in (*own, *questions)]
    for request in requests[
        :10
    ]:  # the first ones are asked before the vectors are in memory, which rounds otherwise
        recall(actor, request)
    answers, alone, both, found = [], list[float](), list[float](), 0
    for request in requests:
        began = time.perf_counter()
        result = recall(actor, request)
        alone.append((time.perf_counter() - began) * 1000)
        answers.append([[str(item.memory.id), round(item.score, 9)] for item in result.items])
    for path, text in sent["questions"].items():
        began = time.perf_counter()
        evidence = recall_kinds(actor, RecallRequest(text, group="proof", is_trial=True), KINDS).evidence
        both.append((time.perf_counter() - began) * 1000)
        found += evidence is not None and any(item.path == path for item in evidence.items)
    print(
        json.dumps(
            {
                "answers": answers,
                "memories_ms": statistics.median(alone),
                "both_ms": statistics.median(both),
                "found": found / len(questions),
            }
        )
    )


if __name__ == "__main__":
    main()
