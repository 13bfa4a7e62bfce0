"""Following relations: what hangs on the entities that a question names comes among the candidates, with its reason."""

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
from access.visibility import Visibility
from memories.language.cleaning import fold
from memories.language.word_forms import is_unspaced, root
from memories.models import Memory
from memories.queries.by_key import rows_of
from memories.queries.visibility import is_visible
from memories.recall.question import Question
from memories.recall.weights import Tuning
from memories.search.query_terms import STOP_WORDS, words
from relations.models import EntityAlias
from storage.compiled_queries import CompiledQuery

MOST_RELATIONS = 50  # the surest
MOST_ENTITIES = 20  # a question that names more is a text
NAME_WORDS = 3  # names of more words are not looked for
NAME_LETTERS = range(2, 7)  # of a script without spaces, where a name may begin at any letter
MOST_NAMES = 256  # looked for in one question
_RELATED: Final = (Path(__file__).parents[1] / "queries" / "sql" / "related.sql").read_text(encoding="utf-8")
_WORD = re.compile(r"\S+")
_BEFORE, _AFTER = "([{<\"'“«", ",;:.?!)]}>\"'”»"


class NameSpan(NamedTuple):
    """What may be a name, folded, and where it stands in the folded question."""

    fold: str
    start: int
    end: int


@dataclass(frozen=True)
class RelationReason:
    """Why a memory is related: the entity that the question names, and the predicate; empty for the entity itself.

    `is_asked` says that the question has the predicate's words, or names both ends.
    """

    entity: str
    predicate: str
    is_asked: bool
    memory: UUID


@dataclass(frozen=True)
class RelatedMemories:
    """What hangs on the entities of a question: reasons by the memories' keys, not yet held against its filters."""

    entities: tuple[str, ...] = ()
    reasons: Mapping[int, RelationReason] = field(default_factory=dict)

    def boosts(self, keys: Collection[int], tuning: Tuning) -> dict[int, float]:
        """Give what is added to those of the keys that are related."""
        found = ((key, self.reasons[key]) for key in keys if key in self.reasons)
        return {key: tuning.asked_boost if why.is_asked else tuning.relation_boost for key, why in found}

    def told(self, keys: Iterable[int]) -> list[str]:
        """Say for each of the keys that are related by which entity and predicate."""
        found = (self.reasons[key] for key in keys if key in self.reasons)
        return [f"{why.entity} {why.predicate or 'itself'}: {why.memory}" for why in found]


NO_RELATIONS: Final = RelatedMemories()


def find_related(question: Question, visibility: Visibility) -> RelatedMemories:
    """Give what hangs on the entities that the question names: one statement, and a second where it names any.

    1. look for the question's words, pairs and triples among the names of entities
    2. follow the relations that were true when the question is about, in the groups of the Visibility
    3. give the entities, the relations' other ends and what proves them, by the versions that count

    Neither an entity nor an end that is outside the Visibility's rooms leads on. The filters of a question (types, tags,
    dates) bind what it brings and not the way there: the search holds the keys against them, like everything it finds.
    """
    named = _named(question.text, visibility)
    if not named:
        return NO_RELATIONS
    way = replace(
        visibility, types=frozenset(), tags=frozenset(), scope="", min_confidence=0.0, after=None, before=None
    )
    shown = [row for row in _hanging(sorted(named), visibility) if is_visible(row, way)]
    entities = {row.of_root: named[row.of_root] for row in shown if row.role == "named"}
    asked = {root(word) for word in words(question.text)}
    return RelatedMemories(tuple(dict.fromkeys(entities.values())), _reasons(shown, entities, asked))


def _reasons(
    rows: Sequence[Any], entities: Mapping[int, str], asked: Collection[str]
) -> dict[int, RelationReason]:
    """Give each row's best reason; `rows` are memories with their role in a relation, all of them visible."""
    ends: defaultdict[int | None, set[int]] = defaultdict(set)
    for row in rows:
        if row.role in ("subject", "object"):
            ends[row.relation].add(row.of_root)
    reasons: dict[int, RelationReason] = {}
    for row in rows:
        why = _reason(row, ends[row.relation], entities, asked)
        if why and _weight(why) > _weight(reasons.get(row.key)):
            reasons[row.key] = why
    return reasons


def _reason(
    row: Any, ends: Collection[int], entities: Mapping[int, str], asked: Collection[str]
) -> RelationReason | None:
    if row.of_root in entities:
        name = entities[row.of_root]
        # What has the name is found by it already.
        return (
            None
            if fold(name) in fold(row.content)
            else RelationReason(name, "", is_asked=False, memory=row.id)
        )
    via = sorted(end for end in ends if end in entities)
    if len(ends) < 2 or not via:
        return None
    is_asked = len(via) == 2 or matches_predicate(row.predicate, asked)
    return RelationReason(entities[via[0]], row.predicate, is_asked, row.id)


def _weight(why: RelationReason | None) -> int:
    return 0 if why is None else 1 + bool(why.predicate) + 2 * why.is_asked


def matches_predicate(predicate: str, asked: Collection[str]) -> bool:
    """Say whether a question whose words have these roots has a telling word of the predicate ("works_at": work)."""
    return any(root(word) in asked for word in predicate.split("_") if word and word not in STOP_WORDS)


def _named(text: str, visibility: Visibility) -> dict[int, str]:
    """Give the entities that a question names, by their roots, as they are called; the longest name counts."""
    spots = find_name_spans(text)
    rows = [
        row
        for row in rows_of(_names, list({spot.fold: None for spot in spots})[:MOST_NAMES])
        if visibility.groups is None
        or row[3] in visibility.groups
        or (visibility.include_global and row[4] == "global")
    ]
    known = {row[0] for row in rows}
    found = [spot for spot in spots if spot.fold in known]
    longest = {spot.fold for spot in found if not any(_is_inside(spot, other) for other in found)}
    named = {memory: name for folded, name, memory, *_ in rows if folded in longest}
    return dict(sorted(named.items())[:MOST_ENTITIES])


def find_name_spans(text: str) -> list[NameSpan]:
    """Give what may be a name in a question: its words, pairs and triples, but stop words alone."""
    folded = fold(text)
    spots = [_bared(match[0], match.start()) for match in _WORD.finditer(folded)]
    spots = [spot for spot in spots if spot.fold][:MOST_NAMES]
    whole = (NameSpan(match[0], match.start(), match.end()) for match in _WORD.finditer(folded))
    found = [*dict.fromkeys([*spots, *whole])]
    for count in range(2, NAME_WORDS + 1):
        for first, last in zip(spots, spots[count - 1 :], strict=False):
            found.append(NameSpan(folded[first.start : last.end], first.start, last.end))
    telling = [spot for spot in found if not STOP_WORDS.issuperset(spot.fold.split())]
    return telling if folded.isascii() else [*telling, *_unspaced(spots)]


def _bared(word: str, start: int) -> NameSpan:
    """Take off what stands around a word and a possessive; the folding made one apostrophe of them all."""
    left = word.lstrip(_BEFORE)
    bare = left.rstrip(_AFTER).removesuffix("'s")
    start += len(word) - len(left)
    return NameSpan(bare, start, start + len(bare))


def _unspaced(spots: Iterable[NameSpan]) -> Iterator[NameSpan]:
    for word, start, _ in spots:
        if not word.isascii() and is_unspaced(word):
            for count in NAME_LETTERS:
                for at in range(len(word) - count + 1):
                    yield NameSpan(word[at : at + count], start + at, start + at + count)


def _is_inside(spot: NameSpan, other: NameSpan) -> bool:
    return (
        other.start <= spot.start
        and spot.end <= other.end
        and other.end - other.start > spot.end - spot.start
    )


@cache
def _names(count: int) -> CompiledQuery[tuple[Any, ...]]:
    columns = ("fold", "name", "memory_id", "group_id", "memory__scope")
    # All groups, for the global entities: the index on group and fold is used, and no name is read that is not asked for.
    names = EntityAlias.objects.filter(group__in=Group.objects.values("key")).order_by()
    return CompiledQuery(lambda *folds: names.filter(fold__in=folds).values_list(*columns), count)


def _hanging(roots: Sequence[int], v: Visibility) -> Iterable[Any]:
    """Read what hangs on the roots: memories with `relation`, `role`, `predicate` and the root that they stand for."""
    stamp = connection.ops.adapt_datetimefield_value
    values: dict[str, Any] = {
        "at": stamp(v.as_of or v.known_at or v.now),
        "known": stamp(v.known_at or v.now),
        "everywhere": v.groups is None,
        "most": MOST_RELATIONS,
    }
    lists: dict[str, list[Any]] = {
        "roots": [*roots],
        "states": sorted(v.states),
        "groups": [0, *sorted(v.groups or ())],  # no group has the key 0, and an empty list is no SQL
    }
    sql = _RELATED
    for name, several in lists.items():
        places = {f"{name}_{n}": value for n, value in enumerate(several)}
        sql = sql.replace(f":{name}", ", ".join(f"%({place})s" for place in places))
        values |= places
    for name in ("at", "known", "everywhere", "most"):
        sql = sql.replace(f":{name}", f"%({name})s")
    return Memory.objects.raw(sql, values)
