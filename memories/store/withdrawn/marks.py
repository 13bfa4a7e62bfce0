"""Tombstones' marks in memory, by group, the texts that match them, and what is refused because it repeats one.

A random stamp, which triggers change with every withdrawal, tells each process whether its copies are still true: one
short query, and no other while nothing was withdrawn. On PostgreSQL each group has one of its own, so that withdrawals
in different groups do not wait for the same row. A copy has a group's own tombstones and those of global texts, so
a group's reads do not grow with what others withdraw.
"""

import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from threading import Lock
from typing import Any, Final, NamedTuple

from django.db.models import QuerySet

from access.actor import READ, Actor
from access.errors import Conflict
from access.models import Group
from memories.draft import Draft
from memories.language.dress import is_in_one_case, undressed
from memories.language.dress.quotes import readings, strings_in
from memories.language.dress.statements import (
    SENTENCE_ENDS,
    is_taken_back,
    loses_a_sign,
    plain_lines,
    statements_in,
)
from memories.models import Tombstone, TombstoneKind
from memories.store.pieces import read_index_state, stamp_name
from memories.store.withdrawn.tombstones import (
    Likeness,
    TombstoneKey,
    bare_hmac,
    bars,
    dress_hmac,
    read_keys,
    spelling_hmac,
    tombstone_hmac,
)
from memories.types import Scope

_MAX_CACHED_TEXTS = 20_000
MAX_CACHED_GROUPS = 500
OF_ALL_GROUPS: Final = 0  # in place of a group's key: global texts, whoever withdrew them
WITHDRAWN_ELSEWHERE = "it restates a text that was withdrawn in another group; a curator decides"
_LINE_END = re.compile(r"[\n\r\v\f\u0085\u2028\u2029\t|]+")
_TAG = re.compile(r"<[^<>\n]{1,300}>")
_SENTENCE_END = re.compile(rf"(?<=[.!?])\s+|(?<=[{SENTENCE_ENDS}])(?!\d)\s*")
_CLAUSE_END = re.compile(r"\s*[;；]\s*")
_LABEL_END = re.compile(r"(?:(?<=[:：])\s+|：)")
# Of a draft besides its text: agents read them in answers.
LABELS: Final = ("thread", "source", "source_ref", "tags", "metadata", "anchor_commit")
# Read as statements, whichever row has them.
_STATED: Final = frozenset(
    {"thread", "name", "title", "instructions", "state", "predicate", "subject", "object"}
)
_MAX_LABELS: Final = 3  # before a sentence: "Open: note: …"


class Mark(NamedTuple):
    """A tombstone in force, as it is compared."""

    key: int
    group: int
    scope: str
    dress: str
    spelling: str
    at: datetime


@dataclass(frozen=True)
class Marks:
    """The tombstones in force for a group's texts, by first and second mark."""

    stamp: str = ""
    exact: Mapping[str, Sequence[Mark]] = field(default_factory=dict)
    dressed: Mapping[str, Sequence[Mark]] = field(default_factory=dict)
    has_own: bool = False  # one of them is the group's


@dataclass(frozen=True)
class Withdrawn:
    """A withdrawn text that a new one repeats: its tombstone, and how alike they are."""

    tombstone: Tombstone
    likeness: Likeness
    is_own: bool

    @property
    def is_refused(self) -> bool:
        """True if the new text is refused; else it waits for a curator."""
        return self.likeness is Likeness.EXACT

    @property
    def place(self) -> str:
        """Where it was withdrawn, in words; only for those who may read there."""
        return "here" if self.is_own else f"in the group '{self.tombstone.group.slug}'"

    def describe(self, actor: Actor) -> str:
        """What was withdrawn where, and who can lift it. Elsewhere only as much as the actor may read."""
        mark = self.tombstone
        if not self.is_own and not actor.may(READ, mark.group_id):
            return "this text was withdrawn in another group, for all groups. A curator there can lift that."
        reason = (mark.reason or "no reason was given").rstrip(".")
        why = f"this text was {mark.kind} {self.place} before: {reason}."
        if self.is_own:
            return f"{why} A curator can lift the tombstone."
        return f"{why} It bars global memories of every group; a curator there can lift the tombstone."

    def doubt(self, actor: Actor) -> str:
        """Why a text in other dress waits, in the words that the actor may read."""
        mark = self.tombstone
        if not self.is_own and not actor.may(READ, mark.group_id):
            return WITHDRAWN_ELSEWHERE
        if self.likeness is Likeness.INSIDE:
            what = (
                "a text that" if mark.kind == TombstoneKind.PURGED else f"the text of {mark.memory_id}, which"
            )
            return f"it contains {what} was {mark.kind} {self.place}; a curator decides"
        if mark.kind == TombstoneKind.PURGED:
            return f"it has the letters and digits of a text that was purged {self.place}; a curator decides"
        return f"it restates {mark.memory_id}, which was {mark.kind}; a curator decides"


class TextMarks(NamedTuple):
    """The marks of a text under one key. `is_in_one_case`: its capital letters are dress."""

    exact: str
    dress: str
    spelling: str
    is_in_one_case: bool

    def equals(self, mark: Mark) -> bool:
        """True if a text with the same fold states the same fact: folding hides 10² and 102, mW and MW."""
        is_spelt_alike = not mark.spelling or self.is_in_one_case or mark.spelling == self.spelling
        return is_spelt_alike and (not mark.dress or not self.dress or mark.dress == self.dress)


_marks: dict[int, Marks] = {}
_texts: OrderedDict[bytes, tuple[TextMarks, ...]] = OrderedDict()
_inside: OrderedDict[tuple[int, str, bytes], tuple[Mark, ...]] = OrderedDict()
_lock = Lock()


def read_stamp(group: int) -> str:
    """The stamp of the withdrawn texts that a group's are compared with: its own and global ones; empty if there was none."""
    if group == OF_ALL_GROUPS:
        return read_index_state().get("withdrawn", "")
    state = read_index_state((group,))
    return state[stamp_name(group)] + state.get("withdrawn", "")


def read_marks(group: int) -> Marks:
    """The tombstones in force for a group's texts; reads only the stamp unless it changed."""
    stamp, known = read_stamp(group), _marks.get(group)
    if known is not None and stamp == known.stamp:
        return known
    if not stamp:
        return Marks()
    if group == OF_ALL_GROUPS:
        found = _marks_in(stamp, Tombstone.objects.filter(scope=Scope.GLOBAL))
    else:
        own, everywhere = Tombstone.objects.filter(group=group), read_marks(OF_ALL_GROUPS)
        found = joined(_marks_in(stamp, own), everywhere, group)
    if len(_marks) >= MAX_CACHED_GROUPS:
        _marks.clear()
    _marks[group] = found
    return found


def _marks_in(stamp: str, tombstones: QuerySet[Tombstone]) -> Marks:
    """The marks of those tombstones that are in force, oldest first."""
    exact, dressed = defaultdict[str, list[Mark]](list), defaultdict[str, list[Mark]](list)
    columns = ("key", "group", "scope", "hmac", "dress", "spelling", "created_at")
    rows = tombstones.filter(lifted_at=None).order_by("key").values_list(*columns)
    for key, group, scope, first, second, third, at in rows:
        mark = Mark(key, group, scope, second, third, at)
        exact[first].append(mark)
        if second:
            dressed[second].append(mark)
    return Marks(stamp, dict(exact), dict(dressed), has_own=bool(exact))


def joined(own: Marks, everywhere: Marks, group: int) -> Marks:
    """A group's own marks combined with those of other groups' global texts."""

    def join(one: Mapping[str, Sequence[Mark]], other: Mapping[str, Sequence[Mark]]) -> dict[str, list[Mark]]:
        rest = {name: [mark for mark in marks if mark.group != group] for name, marks in other.items()}
        both = {name: [*one.get(name, ()), *rest.get(name, ())] for name in {**one, **rest}}
        return {name: sorted(marks) for name, marks in both.items() if marks}

    return Marks(
        own.stamp,
        join(own.exact, everywhere.exact),
        join(own.dressed, everywhere.dressed),
        has_own=own.has_own,
    )


def _marks_of(text: str, keys: Sequence[TombstoneKey]) -> tuple[TextMarks, ...]:
    """The marks of each of a text's readings under each key; cached by the text's hash, since they take a tenth of a millisecond."""
    digest = sha256("".join(key.id for key in keys).encode() + text.encode()).digest()
    with _lock:
        found = _texts.get(digest)
        if found is not None:
            _texts.move_to_end(digest)
            return found
    found = tuple(
        TextMarks(
            tombstone_hmac(key, said), dress_hmac(key, said), spelling_hmac(key, said), is_in_one_case(said)
        )
        for said in readings(text)
        for key in keys
    )
    with _lock:
        _texts[digest] = found
        if len(_texts) > _MAX_CACHED_TEXTS:
            _texts.popitem(last=False)
    return found


def _marks_inside(group: int, marks: Marks, text: str, keys: Sequence[TombstoneKey]) -> tuple[Mark, ...]:
    """The marks in force in a group of texts that this one states inside it; cached, since that takes as long as _marks_of().

    One look-up for each statement and key, however many texts were withdrawn.
    """
    place = (group, marks.stamp, sha256(text.encode()).digest())
    with _lock:
        found = _inside.get(place)
    if found is not None:
        return found
    found = tuple(
        mark
        for plain in map(plain_lines, readings(text))
        for statement in statements_in(plain)
        for key in keys
        if (same := marks.dressed.get(bare_hmac(key, statement.bare)))
        and not (loses_a_sign(plain, statement) or is_taken_back(plain, statement))
        for mark in same
    )
    with _lock:
        _inside[place] = found
        if len(_inside) > _MAX_CACHED_TEXTS:
            _inside.popitem(last=False)
    return found


def prepare_marks(texts: Iterable[tuple[int, str]]) -> None:
    """Compute the marks of texts (with group keys) ahead of the transaction that needs them, if their group has tombstones."""
    for group, text in texts:
        marks = _marks.get(group)
        if marks is not None and marks.exact:
            keys = read_keys()
            _marks_of(text, keys)
            _marks_inside(group, marks, text, keys)


def texts_marks(texts: Iterable[str]) -> list[tuple[TextMarks, ...]]:
    """_marks_of() for many texts; the keys are read once."""
    keys = read_keys()
    return [_marks_of(text, keys) for text in texts]


def _match_marks(
    marks: Marks,
    text_marks: Iterable[TextMarks],
    inside: Iterable[Mark] = (),
    *,
    group: int,
    scope: str,
) -> tuple[Mark, Likeness] | None:
    """The mark that bars a text in a group, the strictest first; None if none does.

    `inside` are the marks of what the text states inside it.
    """
    alike: Mark | None = None
    for own in text_marks:
        for mark in marks.exact.get(own.exact, ()):
            if bars(mark.scope, is_own=mark.group == group, scope=scope):
                if own.equals(mark):
                    return mark, Likeness.EXACT
                alike = mark
        for mark in marks.dressed.get(own.dress, ()) if own.dress else ():
            if bars(mark.scope, is_own=mark.group == group, scope=scope):
                alike = alike or mark
    if alike is not None:
        return alike, Likeness.DRESS
    carried = (mark for mark in inside if bars(mark.scope, is_own=mark.group == group, scope=scope))
    return next(((mark, Likeness.INSIDE) for mark in carried), None)


def find_withdrawn(group: Group, scope: str, text: str) -> Withdrawn | None:
    """The withdrawn text that bars this one in the group with this scope; None if none does."""
    return find_all_withdrawn([(group.key, scope, text)])[0]


def find_all_withdrawn(
    texts: Iterable[tuple[int, str, str]], *, is_whole: bool = False
) -> list[Withdrawn | None]:
    """The withdrawn texts that bar these, each (group key, scope, text); at most two queries, and two for a group that this process reads anew.

    `is_whole`: a text bars none that states it among other things.
    """
    asked = list(texts)
    marks = {group: read_marks(group) for group in {group for group, _, _ in asked}}
    if not any(of_group.exact for of_group in marks.values()):
        return [None] * len(asked)
    keys = read_keys()
    found = [
        _match_marks(
            of_group,
            _marks_of(text, keys),
            () if is_whole else _marks_inside(group, of_group, text, keys),
            group=group,
            scope=scope,
        )
        if (of_group := marks[group]).exact
        else None
        for group, scope, text in asked
    ]
    barring = {match[0].key for match in found if match is not None}
    rows = Tombstone.objects.select_related("group").in_bulk(barring) if barring else {}
    return [
        Withdrawn(rows[match[0].key], match[1], is_own=match[0].group == group)
        if match is not None and match[0].key in rows
        else None
        for match, (group, _, _) in zip(found, asked, strict=True)
    ]


def refuse_withdrawn_texts(
    actor: Actor, group: Group, value: Any, *, field: str, scope: str = Scope.GROUP
) -> None:
    """Raise Conflict if find_repeated() finds a withdrawn text in a JSON value; it names the path, such as `state.notes[2]`."""
    if not value:
        return
    [repeated] = find_repeated([(group.key, {field: value})], scope=scope)
    if repeated is not None:
        raise repeated_text(actor, repeated[1], path=repeated[0])


def refuse_withdrawn_reason(actor: Actor, group: Group, reason: str) -> None:
    """Raise Conflict if the reason of a change is a text that was withdrawn in the group."""
    refuse_withdrawn_texts(actor, group, reason, field="reason")


def find_withdrawn_labels(
    drafts: Sequence[tuple[Group, Draft]], *, names: Sequence[str] = LABELS
) -> list[tuple[str, Withdrawn] | None]:
    """find_repeated() for these fields besides each draft's text."""
    return find_repeated(
        [(group.key, {name: getattr(draft, name) for name in names}) for group, draft in drafts]
    )


def find_repeated(
    rows: Sequence[tuple[int, Mapping[str, Any]]], *, scope: str = Scope.GROUP
) -> list[tuple[str, Withdrawn] | None]:
    """The first value of each row (group key, values by name) that is a withdrawn text, with its path; at most six queries.

    Values that are read as statements (_STATED) may not contain one either, nor have one in other dress, since no person
    would be asked about it.
    """
    barring = {group for group in {group for group, _ in rows} if read_marks(group).exact}
    asked = [
        (number, group, path, text)
        for number, (group, values) in enumerate(rows)
        if group in barring
        for name, value in values.items()
        for path, text in strings_in(value, name)
        if name in _STATED or undressed(text)  # a word that was withdrawn may still be a tag
    ]
    repeated: list[tuple[str, Withdrawn] | None] = [None] * len(rows)
    for is_stated in (False, True):
        part = [each for each in asked if is_stated is (re.split(r"[.\[]", each[2])[0] in _STATED)]
        found = find_all_withdrawn(
            ((group, scope, text) for _, group, _, text in part), is_whole=not is_stated
        )
        for (number, _, path, _), withdrawn in zip(part, found, strict=True):
            if withdrawn is not None and (withdrawn.is_refused or is_stated):
                repeated[number] = repeated[number] or (path, withdrawn)
    return repeated


def repeated_text(actor: Actor, withdrawn: Withdrawn, *, path: str) -> Conflict:
    """The error of a value that repeats a withdrawn text, with its path from the field on."""
    return Conflict(
        f"'{path}' repeats a withdrawn text: {withdrawn.describe(actor)}",
        hint="Leave it out.",
        field=re.split(r"[.\[]", path)[0],
    )


def check_group_text(actor: Actor, group: Group, field: str, text: str) -> None:
    """refuse_withdrawn_texts() for a group's title or instructions."""
    refuse_withdrawn_texts(actor, group, text, field=field)


def sentences_of(text: str) -> list[str]:
    """A text itself, and its lines, sentences and clauses, with and without labels before them; each once."""
    parts = [text]
    for line in _LINE_END.split(text):
        for block in (line, *_TAG.split(line)):
            parts.append(block)
            for sentence in _SENTENCE_END.split(block):
                parts.append(sentence)
                for clause in _CLAUSE_END.split(sentence):
                    parts += (clause, *_without_labels(clause))
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _without_labels(clause: str) -> Iterable[str]:
    """What follows each of the first labels of a clause, such as "Note:"."""
    for label in range(1, _MAX_LABELS + 1):
        rest = _LABEL_END.split(clause, maxsplit=label)
        if len(rest) <= label:
            return
        yield rest[-1]
