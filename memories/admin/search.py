"""Search the list of memories through the keyword index."""

from django.db.models import QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat, StrIndex

from access.actor import Actor
from access.errors import InvalidInput, NotFound
from memories.models import Memory
from memories.queries.versions import full_id
from memories.queries.visibility import listed_by
from memories.search.base import search_index
from memories.search.query_terms import match_for

SEARCH_LIMIT = 200  # best matches: after four pages, better words help more than further results


def find_by_words(actor: Actor, rows: QuerySet[Memory], term: str, *, best_first: bool) -> QuerySet[Memory]:
    """The best matches for the words among the rows, or the memory whose id was typed."""
    try:
        return rows.filter(id=full_id(actor, term))
    except (InvalidInput, NotFound):
        match = match_for(term)
    if match is None:
        return rows.none()
    keys = [hit.key for hit in search_index().keyword(match, listed_by(actor, None), limit=SEARCH_LIMIT)]
    found = rows.filter(key__in=keys)
    if not best_first or not keys:
        return found
    # One string with all keys in order: the ORM took 20 ms to compile a CASE with as many branches.
    order = Value(f",{','.join(map(str, keys))},")
    comma = Value(",", output_field=TextField())  # PostgreSQL joins texts of one type alone
    return found.order_by(StrIndex(order, Concat(comma, Cast("key", TextField()), comma)))
