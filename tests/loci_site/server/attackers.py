"""Clients that store texts of punctuation marks, in a process of their own so that they do not slow the asker.

`python -m tests.loci_site.server.attackers PORT SECONDS CLIENTS [QUESTION]`; the token comes on stdin, what was answered goes to
stdout as JSON. SECONDS 0: one store each. With a question they recall it from the group "flood" instead; with "-" they store
short texts.
"""

import json
import random
import sys
import time
from collections import Counter

from bench.proof.client import Answer, Client
from bench.proof.clients.traffic import together

MARKS = "!?.,;:/-+*()[]"
MARKS_EACH = 30_000
CALL_S = 120
SHORT_TEXTS = "-"
SUPPLY = "".join(random.choices(MARKS, k=4 * MARKS_EACH))


def main(port: int, secret: str, seconds: float, clients: int, question: str = "") -> None:
    """All clients at once: one call each, or in a loop for so long, each as fast as it is answered and allowed."""
    answers: list[Answer] = []
    end = time.monotonic() + seconds

    def one() -> None:
        with Client(port, secret, timeout_s=CALL_S) as client:
            while True:
                if question in ("", SHORT_TEXTS):
                    answer = client.store(words() if question else marks(), "harbour")
                else:
                    answer = client.recall(question, "flood")
                answers.append(answer)
                wait_s = float(answer.headers.get("retry-after", 0))
                if time.monotonic() + wait_s > end:
                    return
                time.sleep(wait_s)

    if faults := together([one] * clients):
        raise SystemExit(faults[0])
    statuses = Counter(str(answer.status) for answer in answers)
    sys.stdout.write(
        json.dumps({"statuses": statuses, "longest_s": max(answer.seconds for answer in answers)})
    )


def words() -> str:
    """A sentence of words that no other has."""
    return " ".join("".join(random.choices("abcdefghijklmnoprstuvw", k=6)) for _ in range(12))


def marks() -> str:
    """A text of punctuation marks: as many tokens as characters."""
    at = random.randrange(len(SUPPLY) - MARKS_EACH)
    return SUPPLY[at : at + MARKS_EACH]


if __name__ == "__main__":
    port, seconds, clients, *asked = sys.argv[1:]
    main(int(port), sys.stdin.read().strip(), float(seconds), int(clients), *asked)
