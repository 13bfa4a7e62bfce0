"""Walking relations: what hangs together with some memories, step by step."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from relations.models import Relation

MAX_DEPTH = 4
MAX_RELATIONS = 500


@dataclass(frozen=True)
class Edge:
    """A relation reached by a walk, and in how many steps (1 is next to the start)."""

    relation: Relation
    depth: int


def neighbours(
    roots: Collection[int],
    *,
    groups: frozenset[int] | None,
    depth: int = 1,
    limit: int = 50,
    at: datetime | None = None,
) -> list[Edge]:
    """Give the relations within `depth` steps of the chains' roots (memory keys), nearest first, at most `limit`.

    Only relations of `groups` (None: all) that were true at `at` (None: now) are walked. Cycles end a walk.
    """
    true_at = _true_at(at or timezone.now())
    reached, frontier = set(roots), set(roots)
    edges: dict[int, Edge] = {}
    for step in range(1, min(depth, MAX_DEPTH) + 1):
        rows = Relation.objects.filter(Q(subject__in=frontier) | Q(object__in=frontier), true_at)
        if groups is not None:
            rows = rows.filter(group__in=groups)
        found = rows.select_related("group", "subject", "object").order_by("-confidence", "key")
        for relation in found[: min(limit, MAX_RELATIONS)]:
            edges.setdefault(relation.key, Edge(relation, step))
        ends = {end for edge in edges.values() for end in (edge.relation.subject_id, edge.relation.object_id)}
        frontier = ends - reached
        reached |= ends
        if not frontier or len(edges) >= limit:
            break
    return list(edges.values())[:limit]


def _true_at(moment: datetime) -> Q:
    began = Q(valid_from=None) | Q(valid_from__lte=moment)
    lasts = Q(valid_to=None) | Q(valid_to__gt=moment)
    return began & lasts & Q(retired_at=None)
