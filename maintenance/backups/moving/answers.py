"""Answers the questions on standard input from the database of the environment: ids of memories, as JSON."""

import json
import sys
from contextlib import suppress

from access.tokens import operator
from memories.embedding import ModelUnavailable, get_encoder
from memories.recall import RecallRequest, recall

MODEL_S = 120


def main() -> None:
    """Read a JSON list of questions and groups; write a list of lists of ids. Nothing is logged or counted."""
    questions = json.load(sys.stdin)
    with suppress(ModelUnavailable):  # on a busy machine the first answers would be by keywords alone
        get_encoder(timeout_s=MODEL_S)
    asked = [RecallRequest(text, group=group, max_results=10, is_trial=True) for text, group in questions]
    found = [[str(item.memory.id) for item in recall(operator(), request).items] for request in asked]
    sys.stdout.write(json.dumps(found))
