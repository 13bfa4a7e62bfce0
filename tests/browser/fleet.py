"""Add a tree of 300 things to one LOCI_HOME, each related to the one above; one memory names the first.

A program of its own, like seed.py. The rows are copies of a stored entity and relation: storing each would take ten seconds.
"""

import hashlib
import os
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from memories.models import Memory  # noqa: E402 - models need django.setup()
from relations.models import Relation  # noqa: E402
from storage.ids import new_id  # noqa: E402

NODES = 300
BRANCHES = 6  # below each thing


def main() -> None:
    """Write the rows in two inserts."""
    like, relation = Memory.objects.filter(type="entity").latest("key"), Relation.objects.latest("key")
    names = [f"Vessel {at:03}" for at in range(NODES)]
    fleet = [copy_of(like, content=name) for name in names]
    fleet.append(copy_of(like, content="Vessel 000 leaves the harbour on Mondays.", type="semantic"))
    Memory.objects.bulk_create(fleet)
    ids = dict(Memory.objects.filter(content__in=names).values_list("content", "key"))
    keys = [ids[name] for name in names]
    Relation.objects.bulk_create(
        copy_of(relation, subject_id=keys[at], object_id=keys[at // BRANCHES], predicate="follows")
        for at in range(1, NODES)
    )


def copy_of(row: Any, **changes: object) -> Any:
    """A new row with the values of another, but for `changes`."""
    values = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    content = changes.get("content")
    hashes = {"content_hash": sha(content), "fold_hash": sha(f"folded {content}")} if content else {}
    return type(row)(**values | {"key": None, "id": new_id()} | hashes | changes)


def sha(text: object) -> str:
    """Any text of 64 digits that no other content has."""
    return hashlib.sha256(str(text).encode()).hexdigest()


if __name__ == "__main__":
    main()
