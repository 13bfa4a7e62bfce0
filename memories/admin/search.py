"""Finding memories in a list by the keyword index, within what the caller may see."""

from uuid import UUID

from django.db.models import QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat, StrIndex

from access.actor import Actor
from memories.models import Memory
from memories.queries.visibility import listed_by
from memories.search.base import search_index
from memories.search.query_terms import match_for

SEARCH_LIMIT = 200  # best matches; a list longer than four pages is narrowed by better words


def find_by_words(actor: Actor, rows: QuerySet[Memory], term: str, *, best_first: bool) -> QuerySet[Memory]:
    """Narrow rows to the best matches for the words, or to the memory whose id was typed."""
    try:
        return rows.filter(id=UUID(term.strip().removeprefix("loci://memories/")))
    except ValueError:
        match = match_for(term)
    if match is None:
        return rows.none()
    keys = [hit.key for hit in search_index().keyword(match, listed_by(actor, None), limit=SEARCH_LIMIT)]
    found = rows.filter(key__in=keys)
    if not best_first or not keys:
        return found
    # One text with all keys in order; a CASE of as many branches took the ORM 20 ms to compile.
    order = Value(f",{','.join(map(str, keys))},")
    return found.order_by(StrIndex(order, Concat(Value(","), Cast("key", TextField()), Value(","))))
