"""Follows relations: memories related to the entities that a question names become candidates, each with its reason."""

import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np
from django.db import connection

from access.models import Group
from access.visibility import Narrowing, Visibility
from memories.embedding import Encoder, ModelUnavailable
from memories.embedding.model import Vectors
from memories.entities.lines import (
    RelationEnds,
    RelationLine,
    collect_ends,
    fence_relations,
    matches_predicate,
    predicate_forms,
    read_lines,
    statement_of,
)
from memories.language.cleaning import content_hash, fold
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
    MAX_PARTLY_NAMED,
    MAX_RELATION_LINES,
    MAX_RELATIONS,
    MAX_RELATIONS_AROUND,
    MAX_WAYS,
    NAME_LETTERS,
    RELATIONS_APART,
    RELATIONS_NEXT,
    SURE_RELATION,
)
from memories.search.query_terms import STOP_WORDS, words
from memories.search.rows import Vector
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
class NamedRelations:
    """The relations of the entities that a question names: their visible ends by the relations' keys.

    `requested` are those that it asks for by the predicate's words, by naming both ends, or by a name and no more.
    """

    ends: Mapping[int, RelationEnds] = field(default_factory=dict)
    requested: frozenset[int] = frozenset()


@dataclass(frozen=True)
class RelatedMemories:
    """The entities of a question, the reasons by memory key, not yet checked against the request's filters, and the relations."""

    entities: tuple[str, ...] = ()
    reasons: Mapping[int, _RelationReason] = field(default_factory=dict)
    relations: NamedRelations = field(default_factory=NamedRelations)

    @property
    def features(self) -> dict[int, str]:
        """The feature of each related memory, by key."""
        return {key: "asked" if each.is_requested else "relation" for key, each in self.reasons.items()}

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
    rows = _visible_rows(named, visibility)
    entities = {row.of_root: named[row.of_root] for row in rows if row.role == "named"}
    question_forms = predicate_forms(question.text)
    return RelatedMemories(
        tuple(dict.fromkeys(entities.values())),
        _best_reasons(rows, entities, question_forms),
        _find_relations(
            rows, entities, question_forms, is_name_alone=_is_only_names(question.text, entities.values())
        ),
    )


def _is_only_names(text: str, names: Iterable[str]) -> bool:
    """Whether a question is these names alone, but for punctuation and words such as "what is"."""
    rest = fold(text)
    for name in sorted(map(fold, names), key=len, reverse=True):
        rest = re.sub(rf"(?<!\w){re.escape(name)}(?:'s)?(?!\w)", " ", rest)
    return all(word in _AROUND_NAMES for word in re.findall(r"\w+", rest))


def _find_relations(
    rows: Sequence[Any], entities: Collection[int], question_forms: Collection[str], *, is_name_alone: bool
) -> NamedRelations:
    """The relations of the named entities, and which of them the question asks for."""
    named, predicates = defaultdict[int, set[int]](set), dict[int, str]()
    for row in rows:
        if row.relation and row.of_root in entities and row.role in ("subject", "object"):
            named[row.relation].add(row.of_root)
            predicates[row.relation] = row.predicate
    requested = {
        relation
        for relation, ends in named.items()
        if is_name_alone or len(ends) == 2 or matches_predicate(predicates[relation], question_forms)
    }
    return NamedRelations(_ends_of(rows, named), frozenset(requested))


def _ends_of(rows: Sequence[Any], relations: Collection[int]) -> dict[int, RelationEnds]:
    """The visible ends of these relations."""
    return collect_ends([(row.relation, row.role, row) for row in rows if row.relation in relations])


def _find_named_entities(text: str, visibility: Visibility) -> dict[int, str]:
    """The entities that a text names, their names by root key; of overlapping names the longest counts."""
    spans = find_name_spans(text)
    rows = _aliases_of(list({span.fold: None for span in spans})[:MAX_NAMES], visibility)
    known = {row[0] for row in rows}
    found = [span for span in spans if span.fold in known]
    longest = {span.fold for span in found if not any(span.is_inside(other) for other in found)}
    return _by_root(row for row in rows if row[0] in longest)


def _by_root(rows: Iterable[tuple[Any, ...]]) -> dict[int, str]:
    return dict(sorted((memory, name) for _, name, memory, *_ in rows)[:MAX_ENTITIES])


def _aliases_of(folds: Sequence[str], visibility: Visibility) -> list[tuple[Any, ...]]:
    """The names of entities with these folds that a Visibility may hold."""
    place = place_rule(visibility)
    return [
        row
        for row in read_rows(_aliases_query, folds)
        if may_hold(place, {"group_id": row[3], "is_global": row[4] == Scope.GLOBAL})
    ]


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


def _visible_rows(roots: Collection[int], visibility: Visibility) -> list[Any]:
    """The rows of _read_related() that a request without filters may see."""
    moments_alone = Narrowing(as_of=visibility.as_of, known_at=visibility.known_at)
    unfiltered = replace(visibility, without_sources=frozenset(), **vars(moments_alone))
    return [*filter(sees(unfiltered), _read_related(sorted(roots), visibility))]


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


@dataclass(frozen=True)
class ToldRelations:
    """The relations of an answer as lines, their tokens, and whether they surely answer the question."""

    lines: tuple[RelationLine, ...] = ()
    tokens: int = 0
    is_sure: bool = False


def answer_by_relations(
    found: NamedRelations,
    question: Question,
    visibility: Visibility,
    narrowing: Narrowing,
    encoder: Encoder | None,
    *,
    group: str,
    names: Sequence[str],
    nearest: float,
    counting: Encoder | None,
    token_budget: int,
) -> ToldRelations:
    """The relations that may answer a question, the likeliest first, within half of the budget.

    They compete with memories as sentences: `nearest` is the cosine of the nearest memory. `names` are short texts that the
    search found: a question that names no entity in full may name one of them in part.

    None for a request with filters: a relation has no type, tag or date of a memory. Relations that state or join
    texts that the group has withdrawn are left out, and withdrawn proofs are not named.
    """
    is_filtered = narrowing != Narrowing(as_of=narrowing.as_of, known_at=narrowing.known_at)
    if not (found.ends or is_filtered or question.identifiers):
        found = _named_in_part(question, names, visibility)
    if is_filtered or not found.ends:
        return ToldRelations()
    every = {**found.ends, **_next_relations(found.ends, visibility)}
    hidden = find_left_out([row for ends in every.values() for row in ends.memories], visibility)
    left = {key: ends for key, each in every.items() if (ends := each.without(hidden))}
    scores = _score(left, found, question, encoder)
    best = max(scores.values(), default=0.0)
    asked = max((scores[key] for key in found.requested & scores.keys()), default=None)
    # Others stand next to those that are asked for only where both together come nearer; alone, where no memory does.
    floor = max(nearest, best - RELATIONS_APART) if asked is None else asked - RELATIONS_NEXT
    likeliest = [
        key
        for key in sorted(scores, key=lambda key: (key not in found.requested, -scores[key]))
        if key in found.requested or (scores[key] >= floor and scores[key] > 0)
    ]
    most = MAX_RELATION_LINES if found.requested else MAX_RELATIONS_AROUND
    lines = {line.said.key: line for line in read_lines({key: left[key] for key in likeliest[:most]})}
    withdrawn = find_left_out([line.said for line in lines.values()], visibility)
    shown, spent = list[RelationLine](), 0
    for line in [lines[key] for key in likeliest[:most] if key not in withdrawn]:
        cost = count_tokens(f"{escape(line.show(group))}\n", counting)
        cost += 0 if shown else count_tokens(f"{fence_relations([])}\n", counting)
        if spent + cost <= token_budget // 2:
            shown.append(line)
            spent += cost
    is_sure = bool(found.requested) or best >= SURE_RELATION
    return ToldRelations(tuple(shown), spent, is_sure and bool(shown))


def _named_in_part(question: Question, names: Sequence[str], visibility: Visibility) -> NamedRelations:
    """The relations of the entities of which the question has half of the name or more: "Jonty" of "Jonty Crake"."""
    asked = {*words(question.text)} - STOP_WORDS
    own = [(fold(name), {*words(name)}) for name in names]
    in_part = [name for name, parts in own if 2 * len(parts & asked) >= len(parts) > 0]
    named = _by_root(_aliases_of(in_part[:MAX_PARTLY_NAMED], visibility)) if in_part else {}
    rows = _visible_rows(named, visibility) if named else []
    entities = {row.of_root for row in rows if row.role == "named"}
    return _find_relations(rows, entities, predicate_forms(question.text), is_name_alone=False)


def _next_relations(ends: Mapping[int, RelationEnds], visibility: Visibility) -> dict[int, RelationEnds]:
    """The relations of the other ends: a question may lead over one ("who leads the team that owns Checkout")."""
    beyond = {root for each in ends.values() for root in each.roots}
    rows = _visible_rows(sorted(beyond)[:MAX_ENTITIES], visibility)
    return _ends_of(rows, {row.relation for row in rows if row.relation})


def _score(
    every: Mapping[int, RelationEnds], found: NamedRelations, question: Question, encoder: Encoder | None
) -> dict[int, float]:
    """The cosine of the question with each relation as a sentence, or with two that lead on to it; by the relations' keys.

    Without a vector, or while an endpoint is slow, all are 0, and those of the named entities alone count.
    """
    near = [key for key in every if key in found.ends]
    if encoder is None or question.vector is None:
        return dict.fromkeys(near, 0.0)
    said = {key: statement_of(ends.subject, ends.predicate, ends.object) for key, ends in every.items()}
    ways: list[tuple[int, ...]] = [(key,) for key in near]
    for one in near:
        onward = (key for key in every if key not in found.ends)
        ways += [(one, key) for key in onward if {*every[one].roots} & {*every[key].roots}]
    patience_s = question.vectors_until - time.monotonic()
    try:
        vectors = _vectors_of(
            [". ".join(said[key] for key in way) for way in ways[:MAX_WAYS]], encoder, patience_s
        )
    except ModelUnavailable:
        return dict.fromkeys(near, 0.0)
    cosines = map(question.model.question_cosine, (vectors @ question.vector.result()).tolist())
    scores = dict[int, float]()
    for way, cosine in zip(ways, cosines, strict=False):
        for key in way:
            scores[key] = max(scores.get(key, -1.0), cosine)
    return scores


_MAX_CACHED = 5_000  # about 8 MB
_VECTORS: dict[tuple[str, str], Vector] = {}  # by model and content hash


def _vectors_of(sentences: Sequence[str], encoder: Encoder, patience_s: float) -> Vectors:
    """The vectors of sentences; those that are new to the process are encoded at once, in about 2 ms each."""
    keys = [(encoder.model_id, content_hash(sentence)) for sentence in sentences]
    known = {key: vector for key in keys if (vector := _VECTORS.get(key)) is not None}
    if new := {key: said for key, said in zip(keys, sentences, strict=True) if key not in known}:
        made = dict(zip(new, encoder.encode([*new.values()], patience_s=patience_s), strict=True))
        if len(_VECTORS) + len(made) > _MAX_CACHED:
            _VECTORS.clear()
        _VECTORS.update(made)
        known |= made
    return np.stack([known[key] for key in keys])
