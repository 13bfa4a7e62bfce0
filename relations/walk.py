"""Walks over relations: everything connected to some memories, step by step."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from relations.models import Relation

MAX_DEPTH = 4
MAX_RELATIONS = 500
PAGE_ROWS = 500


@dataclass(frozen=True)
class Edge:
    """A relation that a walk reached, with the number of steps (1 touches the start)."""

    relation: Relation
    depth: int


def walk_relations(
    roots: Collection[int],
    *,
    groups: frozenset[int] | None,
    may_see: Callable[[set[int]], set[int]] | None,
    depth: int = 1,
    limit: int = 50,
    at: datetime | None = None,
) -> list[Edge]:
    """The relations within `depth` steps of the chains' roots (memory keys), nearest first, at most `limit`.

    Follows only relations of `groups` (None: all) that were true at `at` (None: now) and whose two ends are visible.
    `may_see` takes a set of roots and returns the visible ones (None: all are visible). It filters before the limit
    applies, so a hidden end neither takes a place nor leads on. Cycles end a walk.
    """
    moment = at or timezone.now()
    began = Q(valid_from=None) | Q(valid_from__lte=moment)
    true_then = began & (Q(valid_to=None) | Q(valid_to__gt=moment)) & Q(retired_at=None)
    most = min(limit, MAX_RELATIONS)
    reached, frontier = set(roots), set(roots)
    edges: dict[int, Edge] = {}
    for step in range(1, min(depth, MAX_DEPTH) + 1):
        rows = Relation.objects.filter(Q(subject__in=frontier) | Q(object__in=frontier), true_then)
        if groups is not None:
            rows = rows.filter(group__in=groups)
        for page in read_pages(rows.exclude(key__in=list(edges))):
            visible = may_see(_ends(page)) if may_see else _ends(page)
            shown = [relation for relation in page if _ends([relation]) <= visible]
            edges |= {relation.key: Edge(relation, step) for relation in shown[: most - len(edges)]}
            if len(edges) >= most:
                return list(edges.values())
        frontier = _ends([edge.relation for edge in edges.values()]) - reached
        reached |= frontier
        if not frontier:
            break
    return list(edges.values())


def read_pages(rows: QuerySet[Relation]) -> Iterator[list[Relation]]:
    """Relations in pages of PAGE_ROWS, highest confidence first."""
    ordered = rows.select_related("group", "subject", "object").order_by("-confidence", "key")
    start, page = 0, list(ordered[:PAGE_ROWS])
    while page:
        yield page
        start += len(page)
        page = list(ordered[start : start + PAGE_ROWS]) if len(page) == PAGE_ROWS else []


def _ends(relations: Collection[Relation]) -> set[int]:
    return {end for relation in relations for end in (relation.subject_id, relation.object_id)}
