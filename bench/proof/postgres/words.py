"""Code words that are unique in the store: one client stores them, another looks for them."""

import random
from dataclasses import dataclass, field

from bench.proof.client import Client
from bench.proof.clients.ledger import Ledger
from bench.proof.clients.sentences import GROUPS


@dataclass
class CodeWords:
    """What was stored is in the ledger."""

    ledger: Ledger
    dice: random.Random = field(default_factory=lambda: random.Random(7))

    def store(self, client: Client) -> tuple[str, str]:
        """A new word and the id of its memory."""
        word = f"zq{self.dice.getrandbits(48):x}"
        text = f"The new code word for the harbour gate is {word}."
        self.ledger.send(text)
        answer = client.call("store_memory", content=text, group=GROUPS[0], scope="group")
        self.ledger.acknowledge(text, answer)
        return word, str(answer["id"])


def finds(client: Client, word: str, id_: str) -> bool:
    """Whether a question about the word gets its memory."""
    question = f"Is {word} the code word of the harbour gate?"
    results = client.call("recall_memory", query=question, group=GROUPS[0])["results"]
    return id_ in {item["id"] for item in results}
