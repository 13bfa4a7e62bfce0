"""Follows relations: memories related to the entities that a question names become candidates, each with its reason."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection

from access.models import Group
from access.visibility import Narrowing, Visibility
from memories.embedding import Encoder
from memories.entities.lines import (
    RelationEnds,
    RelationLine,
    collect_ends,
    fence_relations,
    matches_predicate,
    predicate_forms,
    read_lines,
)
from memories.language.cleaning import fold
from memories.language.word_forms import is_unspaced
from memories.models import Memory
from memories.queries.quoting import escape
from memories.queries.visibility import may_hold, place_rule, sees
from memories.recall.budget import count_tokens
from memories.recall.question import Question
from memories.recall.weights import (
    MAX_ENTITIES,
    MAX_NAME_WORDS,
    MAX_NAMES,
    MAX_RELATION_LINES,
    MAX_RELATIONS,
    NAME_LETTERS,
    Tuning,
)
from memories.search.query_terms import STOP_WORDS
from memories.store.withdrawn.left_out import find_left_out
from memories.types import Scope
from relations.models import EntityAlias
from storage.compiled_queries import CompiledQuery, read_rows

_RELATED_SQL: Final = (Path(__file__).parents[1] / "queries" / "sql" / "related.sql").read_text(
    encoding="utf-8"
)
_WORD = re.compile(r"\S+")
_AROUND_NAMES: Final = frozenset({"a", "about", "an", "and", "are", "is", "the", "what", "who"})
_BEFORE, _AFTER = "([{<\"'“«", ",;:.?!)]}>\"'”»"


class _NameSpan(NamedTuple):
    """A possible name, folded, and its place in the folded question."""

    fold: str
    start: int
    end: int

    def is_inside(self, other: "_NameSpan") -> bool:
        """Whether the other, longer span covers this one."""
        return (
            other.start <= self.start
            and self.end <= other.end
            and other.end - other.start > self.end - self.start
        )


@dataclass(frozen=True)
class _RelationReason:
    """Why a memory is related: the entity that the question names, and the predicate; empty for the entity itself.

    `is_requested`: the question has the predicate's words, or names both ends.
    """

    entity: str
    predicate: str
    is_requested: bool
    memory: UUID

    @property
    def priority(self) -> int:
        """The greatest of a memory's reasons counts: first the requested, then those by a predicate."""
        return 1 + bool(self.predicate) + 2 * self.is_requested


@dataclass(frozen=True)
class RelatedMemories:
    """The entities of a question and the reasons by memory key, not yet checked against the request's filters.

    `requested_relations` are the visible ends of the relations that the question asks for, by the relations' keys.
    """

    entities: tuple[str, ...] = ()
    reasons: Mapping[int, _RelationReason] = field(default_factory=dict)
    requested_relations: Mapping[int, RelationEnds] = field(default_factory=dict)

    def boosts(self, keys: Collection[int], tuning: Tuning) -> dict[int, float]:
        """The boosts of the related ones among the keys."""
        found = ((key, self.reasons[key]) for key in keys if key in self.reasons)
        return {
            key: tuning.asked_boost if reason.is_requested else tuning.relation_boost for key, reason in found
        }

    def describe(self, keys: Iterable[int]) -> list[str]:
        """For each related one among the keys, its entity, predicate and memory id."""
        found = (self.reasons[key] for key in keys if key in self.reasons)
        return [f"{reason.entity} {reason.predicate or 'itself'}: {reason.memory}" for reason in found]


NO_RELATIONS: Final = RelatedMemories()


def find_related(question: Question, visibility: Visibility) -> RelatedMemories:
    """Memories related to the entities that the question names: one statement, and a second if it names any.

    1. look up the question's words, pairs and triples among the names of entities
    2. follow the relations that held at the question's moment, in the groups of the Visibility
    3. return the entities, the relations' other ends and their proofs, as the versions that count

    An entity or end outside the groups of the Visibility leads nowhere. The request's filters (types, tags, dates) bind
    the results, not the way there: the search checks the keys against them like all its hits.
    """
    named = _find_named_entities(question.text, visibility)
    if not named:
        return NO_RELATIONS
    moments_alone = Narrowing(as_of=visibility.as_of, known_at=visibility.known_at)
    unfiltered = replace(visibility, without_sources=frozenset(), **vars(moments_alone))
    rows = [*filter(sees(unfiltered), _read_related(sorted(named), visibility))]
    entities = {row.of_root: named[row.of_root] for row in rows if row.role == "named"}
    question_forms = predicate_forms(question.text)
    return RelatedMemories(
        tuple(dict.fromkeys(entities.values())),
        _best_reasons(rows, entities, question_forms),
        _find_requested(
            rows, entities, question_forms, is_name_alone=_is_only_names(question.text, entities.values())
        ),
    )


def _is_only_names(text: str, names: Iterable[str]) -> bool:
    """Whether a question is these names alone, but for punctuation and words such as "what is"."""
    rest = fold(text)
    for name in sorted(map(fold, names), key=len, reverse=True):
        rest = re.sub(rf"(?<!\w){re.escape(name)}(?:'s)?(?!\w)", " ", rest)
    return all(word in _AROUND_NAMES for word in re.findall(r"\w+", rest))


def _find_requested(
    rows: Sequence[Any], entities: Collection[int], question_forms: Collection[str], *, is_name_alone: bool
) -> dict[int, RelationEnds]:
    """The relations that a question asks for: it has the predicate's words, names both ends, or is a name and no more."""
    named, predicates = defaultdict[int, set[int]](set), dict[int, str]()
    for row in rows:
        if row.relation and row.of_root in entities and row.role in ("subject", "object"):
            named[row.relation].add(row.of_root)
            predicates[row.relation] = row.predicate
    wanted = {
        relation
        for relation, ends in named.items()
        if is_name_alone or len(ends) == 2 or matches_predicate(predicates[relation], question_forms)
    }
    return collect_ends([(row.relation, row.role, row) for row in rows if row.relation in wanted])


def _find_named_entities(text: str, visibility: Visibility) -> dict[int, str]:
    """The entities that a text names, their names by root key; of overlapping names the longest counts."""
    spans, place = find_name_spans(text), place_rule(visibility)
    rows = [
        row
        for row in read_rows(_aliases_query, list({span.fold: None for span in spans})[:MAX_NAMES])
        if may_hold(place, {"group_id": row[3], "is_global": row[4] == Scope.GLOBAL})
    ]
    known = {row[0] for row in rows}
    found = [span for span in spans if span.fold in known]
    longest = {span.fold for span in found if not any(span.is_inside(other) for other in found)}
    named = {memory: name for folded, name, memory, *_ in rows if folded in longest}
    return dict(sorted(named.items())[:MAX_ENTITIES])


@cache
def _aliases_query(count: int) -> CompiledQuery[tuple[Any, ...]]:
    columns = ("fold", "name", "memory_id", "group_id", "memory__scope")
    # All groups, for the global entities: this uses the index on group and fold, and reads matching names only.
    names = EntityAlias.objects.filter(group__in=Group.objects.values("key")).order_by()
    return CompiledQuery(lambda *folds: names.filter(fold__in=folds).values_list(*columns), count)


def find_name_spans(text: str) -> list[_NameSpan]:
    """Possible names in a text: its words, pairs and triples, without those of stop words alone."""
    folded = fold(text)
    bare = [_bare_span(match[0], match.start()) for match in _WORD.finditer(folded)]
    bare = [span for span in bare if span.fold][:MAX_NAMES]
    whole = (_NameSpan(match[0], match.start(), match.end()) for match in _WORD.finditer(folded))
    found = [*dict.fromkeys([*bare, *whole])]
    for count in range(2, MAX_NAME_WORDS + 1):
        for first, last in zip(bare, bare[count - 1 :], strict=False):
            found.append(_NameSpan(folded[first.start : last.end], first.start, last.end))
    distinctive = [span for span in found if not STOP_WORDS.issuperset(span.fold.split())]
    return distinctive if folded.isascii() else [*distinctive, *_unspaced_spans(bare)]


def _bare_span(word: str, start: int) -> _NameSpan:
    """A word without punctuation around it and without a possessive; folding made all apostrophes one."""
    left = word.lstrip(_BEFORE)
    bare = left.rstrip(_AFTER).removesuffix("'s")
    start += len(word) - len(left)
    return _NameSpan(bare, start, start + len(bare))


def _unspaced_spans(spans: Iterable[_NameSpan]) -> Iterator[_NameSpan]:
    """Every run of two to six letters in scripts without spaces."""
    for word, start, _ in spans:
        if not word.isascii() and is_unspaced(word):
            for count in NAME_LETTERS:
                for at in range(len(word) - count + 1):
                    yield _NameSpan(word[at : at + count], start + at, start + at + count)


def _read_related(roots: Sequence[int], v: Visibility) -> Iterable[Any]:
    """Memories related to the roots, with `relation`, `role`, `predicate` and `of_root`, the root of their chain."""
    to_column = connection.ops.adapt_datetimefield_value
    values: dict[str, Any] = {
        "at": to_column(v.as_of or v.known_at or v.now),
        "known": to_column(v.known_at or v.now),
        "everywhere": int(v.groups is None),
        "most": MAX_RELATIONS,
    }
    lists: dict[str, list[Any]] = {
        "roots": [*roots],
        "states": sorted(v.states),
        "groups": [0, *sorted(v.groups or ())],  # no group has the key 0, and an empty list is not SQL
    }
    sql = _RELATED_SQL
    for name, members in lists.items():
        parameters = {f"{name}_{n}": value for n, value in enumerate(members)}
        sql = sql.replace(f":{name}", ", ".join(f"%({parameter})s" for parameter in parameters))
        values |= parameters
    for name in ("at", "known", "everywhere", "most"):
        sql = sql.replace(f":{name}", f"%({name})s")
    return Memory.objects.raw(sql, values)


def _best_reasons(
    rows: Sequence[Any], entities: Mapping[int, str], question_forms: Collection[str]
) -> dict[int, _RelationReason]:
    """Each memory's best reason by key, from the visible rows of _read_related()."""
    ends: defaultdict[int | None, set[int]] = defaultdict(set)
    for row in rows:
        if row.role in ("subject", "object"):
            ends[row.relation].add(row.of_root)
    reasons: dict[int, _RelationReason] = {}
    for row in rows:
        reason = _reason_for(row, ends[row.relation], entities, question_forms)
        if reason and (row.key not in reasons or reason.priority > reasons[row.key].priority):
            reasons[row.key] = reason
    return reasons


def _reason_for(
    row: Any, ends: Collection[int], entities: Mapping[int, str], question_forms: Collection[str]
) -> _RelationReason | None:
    """Why a row is related; None if both ends are not visible, no named entity is an end, or it has the name itself."""
    if row.of_root in entities:
        name = entities[row.of_root]
        if fold(name) in fold(row.content):  # the search finds it by its name
            return None
        return _RelationReason(name, "", is_requested=False, memory=row.id)
    named_ends = sorted(end for end in ends if end in entities)
    if len(ends) < 2 or not named_ends:
        return None
    is_requested = len(named_ends) == 2 or matches_predicate(row.predicate, question_forms)
    return _RelationReason(entities[named_ends[0]], row.predicate, is_requested, row.id)


def requested_lines(
    requested: Mapping[int, RelationEnds],
    visibility: Visibility,
    narrowing: Narrowing,
    encoder: Encoder | None,
    *,
    group: str,
    token_budget: int,
) -> tuple[tuple[RelationLine, ...], int]:
    """The relations that a question asks for as lines, within half of the budget, and their tokens.

    None for a request with filters: a relation has no type, tag or date of a memory. Relations that state or join
    texts that the group has withdrawn are left out, and withdrawn proofs are not named.
    """
    is_filtered = narrowing != Narrowing(as_of=narrowing.as_of, known_at=narrowing.known_at)
    if is_filtered or not requested:
        return (), 0
    hidden = find_left_out([row for ends in requested.values() for row in ends.memories], visibility)
    shown, spent = list[RelationLine](), 0
    lines = read_lines({key: ends for key, each in requested.items() if (ends := each.without(hidden))})
    withdrawn = find_left_out([line.said for line in lines], visibility)
    for line in [line for line in lines if line.said.key not in withdrawn][:MAX_RELATION_LINES]:
        cost = count_tokens(f"{escape(line.show(group))}\n", encoder)
        cost += 0 if shown else count_tokens(f"{fence_relations([])}\n", encoder)
        if spent + cost <= token_budget // 2:
            shown.append(line)
            spent += cost
    return tuple(shown), spent
