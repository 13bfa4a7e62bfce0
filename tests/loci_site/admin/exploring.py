"""Requests to the explore pages, for their tests."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from memories.entities.store_relation import RelationDraft, store_relation
from relations.models import Relation
from tests.people import person


def get(client: Client, address: str, *, status: int = 200, **asked: Any) -> Any:
    answer = client.get(f"/admin/{address}", asked)
    assert answer.status_code == status, (address, answer.status_code, answer.content[:300])
    return answer


def text(client: Client, address: str, *, status: int = 200, **asked: Any) -> str:
    return str(get(client, address, status=status, **asked).content.decode())


def relate(user: User, subject: str, predicate: str, object_: str, *, group: str = "ledger") -> Relation:
    return store_relation(person(user), RelationDraft(subject, predicate, object_, group=group)).relation
