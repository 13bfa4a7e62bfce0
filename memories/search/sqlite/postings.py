"""Lists of the texts that have a word, read from FTS5."""

import json
from collections.abc import Iterator, Sequence

from access.visibility import Visibility
from memories.search.keyword import Postings, VisibleTexts, join_columns, parse_numbers
from memories.search.query_terms import Match, expression_of
from memories.search.rows import groups_sql
from memories.search.term_counts import POSTING_BUDGET
from storage.compiled_queries import fetch

# From this share of all texts on, matching a group's word costs more than it saves.
LARGE_SHARE = 0.3
MAX_FILTER_GROUPS = 50  # groups named inside a match; with more, only the rows are filtered

TEXT, CONTEXT = "content forms", "context"
_FOUND = """
FROM memories_fts AS f CROSS JOIN search_row AS s ON s.key = f.rowid WHERE f.memories_fts MATCH %s AND {groups}
"""
# A row per word and columns with two texts of numbers: Python takes three times as long for a row per match.
_POSTINGS = """
SELECT (SELECT GROUP_CONCAT(s.key) || ' ' || GROUP_CONCAT(s.words) {found}) FROM json_each(%s) AS word
"""
_COUNT = "SELECT COUNT(*) FROM (SELECT 1 " + _FOUND + " LIMIT %s)"  # noqa: S608 - constants alone


class FtsPostings:
    """PostingReader over FTS5."""

    needs_share = True

    def postings(
        self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts
    ) -> Iterator[Postings]:
        """For each term the texts of the visible groups that have it; one statement."""
        groups, params = groups_sql(visibility, "s")
        beginning = group_expression(visibility, texts)
        expressions = [
            beginning + expression_of([term], columns) for term in terms for columns in (TEXT, CONTEXT)
        ]
        found = _FOUND.replace("%s", "word.value").format(groups=groups)
        rows = fetch(_POSTINGS.format(found=found), [*params, json.dumps(expressions)])
        parts = [parse_numbers(*(matches or " ").split(" ")) for (matches,) in rows]
        return map(join_columns, parts[::2], parts[1::2])

    def counts(self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts) -> list[int]:
        """For each term the number of texts that have it, counted up to POSTING_BUDGET + 1."""
        groups, params = groups_sql(visibility, "s")
        beginning, sql = group_expression(visibility, texts), _COUNT.format(groups=groups)
        rows = [
            fetch(sql, [beginning + Match((term,)).expression, *params, POSTING_BUDGET + 1]) for term in terms
        ]
        return [int(count) for [(count,)] in rows]


FTS_POSTINGS = FtsPostings()


def group_expression(visibility: Visibility, texts: VisibleTexts) -> str:
    """The beginning of a match expression that skips other groups' texts; empty where that costs more than it saves."""
    terms = group_terms(visibility)
    if not 0 < len(terms) <= MAX_FILTER_GROUPS or texts.share >= LARGE_SHARE:
        return ""
    return f"{{filter}} : ({' OR '.join(terms)}) AND "


def group_terms(v: Visibility) -> list[str]:
    """The filter column's words for visible groups; empty if every group is visible."""
    if v.groups is None:
        return []
    terms = [f'"ingroup{key}"' for key in sorted(v.groups)]
    return [*terms, '"isglobal"'] if v.include_global else terms
