"""vec0 holds a byte for each number of a vector; what it finds is compared again with the whole vectors."""

import json

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import connection

from access.models import Group
from memories.draft import Draft
from memories.embedding import Encoder
from memories.embedding.manifest import MINILM
from memories.models import Piece
from memories.queries.visibility import recallable_by
from memories.search.base import search_index
from memories.store.bulk import store_many
from memories.store.pieces import as_vector
from tests.people import person
from tests.settings import REPOSITORY

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.model,
    pytest.mark.sqlite(reason="vec0"),
]
SET = REPOSITORY / "bench" / "evaluate" / "sets" / "team"


def lines(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (SET / name).read_text(encoding="utf-8").splitlines()]


def test_the_best_sixty_are_those_of_the_whole_vectors(
    alice: User, ledger: Group, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.search.sqlite.engine.current_table", lambda _: None)  # as in a new process
    drafts = [Draft(line["text"], group="ledger") for line in lines("corpus.jsonl")]
    store_many(person(alice), drafts, encoder=encoder)
    pieces = list(Piece.objects.order_by("key"))
    whole = np.stack([as_vector(bytes(piece.embedding)) for piece in pieces])
    visibility = recallable_by(person(alice), ledger)
    for line in lines("queries.jsonl")[:25]:
        vector = encoder.encode_query(line["text"])
        cosines = dict(zip((piece.memory_id for piece in pieces), (whole @ vector).tolist(), strict=True))
        found = search_index().nearest(vector, visibility, limit=60)
        assert [hit.key for hit in found] == sorted(cosines, key=lambda key: (-cosines[key], key))[:60]
        assert [hit.score for hit in found] == pytest.approx([cosines[hit.key] for hit in found], abs=1e-6)


def test_a_vector_takes_a_byte_for_each_number(alice: User, ledger: Group, encoder: Encoder) -> None:
    store_many(person(alice), [Draft("The port is 8081.", group="ledger")], encoder=encoder)
    with connection.cursor() as cursor:
        cursor.execute("SELECT length(embedding) FROM memories_vec")
        assert cursor.fetchall() == [(MINILM.width,)]
