"""Places: everything that holds a copy of a memory's text. A purge's preview, its erasing and its certificate ask each one."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from operator import attrgetter
from typing import IO, Any, ClassVar, Final
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from access.actor import Actor
from access.additions import additions
from access.models import Group
from memories.language.cleaning import first_words
from memories.language.dress.quotes import Quotes
from memories.store.threads import NEIGHBOUR_WORDS
from storage.bulk import AT_ONCE, batches

CHUNK_BYTES = 1024**2  # of a file, searched at once
_MAX_ENCODED: Final = 3  # levels of JSON in JSON that are searched for in files: each adds byte strings
MAX_NAMED: Final = 5  # rows named in a line
LEFT, BLANKED, DELETED = "left", "blanked", "deleted"  # what a purge does with the rows that quote a text


@dataclass(frozen=True)
class PurgedTexts:
    """The memories that a purge destroys: their keys, texts and ids, and the keys of their groups.

    `within`: the key of the one group whose copies are erased, since the memories moved away and stay. `recalls`: the keys
    of the logged recalls that found them.
    """

    keys: tuple[int, ...]
    texts: tuple[str, ...]
    ids: tuple[UUID, ...] = ()
    groups: tuple[int, ...] = ()
    within: int | None = None
    recalls: tuple[int, ...] = ()

    @cached_property
    def quotes(self) -> Quotes:
        """Finds the texts."""
        return Quotes(self.texts)

    @cached_property
    def starts(self) -> Quotes:
        """Finds the texts' first words, which neighbours in a thread have in their context."""
        return Quotes(first_words(text, NEIGHBOUR_WORDS) for text in self.texts)

    @cached_property
    def named(self) -> Quotes:
        """Finds the texts and the ids."""
        return Quotes((*self.texts, *map(str, self.ids)))

    @cached_property
    def bytes(self) -> list[bytes]:
        """The texts as files may contain them: plain and as JSON in JSON."""
        return sorted({form.encode() for text in self.texts for form in encodings_of(text)})


@dataclass(frozen=True)
class TextPlace:
    """Columns of a table that may contain a text; `line` follows a number of rows.

    `fate`: what a purge does with rows that quote a text; if `is_own`, only in the memories' groups. `group` and `names` are
    the lookups of a row's group (its id) and of its public names. `own`: the rows
    that are deleted with the memories, whatever they say. `erases` does what no column says, and counts it. `mentions` lists
    the rows that the actor may read and whose folded text matches a pattern, as a search for a person does.
    """

    name: str
    line: str
    model: type[Model]
    columns: tuple[str, ...] = ()
    fate: str = LEFT
    is_own: bool = False
    group: str = ""
    names: tuple[str, ...] = ()
    looks_for: Callable[[PurgedTexts], Quotes] = attrgetter("quotes")
    own: Callable[[PurgedTexts], Q] | None = None
    erases: Callable[[PurgedTexts], int] | None = None
    mentions: Callable[[Actor, re.Pattern[str]], list[str]] | None = None

    def rows(self, doomed: PurgedTexts, *groups: int) -> QuerySet[Any]:
        """The rows, of these groups alone if any are named."""
        rows = self.model._base_manager.all()
        keys = (doomed.within,) if doomed.within is not None else groups
        return (
            rows.filter(**{f"{self.group}__in": Group.objects.filter(key__in=keys).values("id")})
            if keys
            else rows
        )

    def find(self, doomed: PurgedTexts, *groups: int) -> list[tuple[Any, ...]]:
        """The primary keys and columns of the rows that quote a text and would stay without a purge's `fate`."""
        rows = self.rows(doomed, *groups)
        found = self.looks_for(doomed).rows(rows, *self.columns)
        own = {
            pk
            for some in batches(row[0] for row in found)
            for rows in self._own_rows(doomed)
            for pk in rows.filter(pk__in=some).values_list("pk", flat=True)
        }
        return [row for row in found if row[0] not in own]

    def erase(self, doomed: PurgedTexts) -> int:
        """Do with the rows what the place does; the number of changed and deleted ones. Inside the purge's transaction."""
        count = sum(rows.delete()[0] for rows in self._own_rows(doomed))
        if self.erases is not None:
            return count + self.erases(doomed)
        found = self.find(doomed, *(doomed.groups if self.is_own else ())) if self.fate != LEFT else []
        return count + (self._delete(found) if self.fate == DELETED else self._blank(doomed, found))

    def _own_rows(self, doomed: PurgedTexts) -> Iterator[QuerySet[Any]]:
        """The rows that go with the memories, for a batch of these at a time."""
        at = range(0, len(doomed.keys) if self.own is not None else 0, AT_ONCE)
        parts = (
            replace(doomed, keys=doomed.keys[n : n + AT_ONCE], ids=doomed.ids[n : n + AT_ONCE]) for n in at
        )
        return (self.rows(doomed).filter(self.own(part)) for part in parts if self.own is not None)

    def _delete(self, found: Sequence[tuple[Any, ...]]) -> int:
        parts = batches(row[0] for row in found)
        return sum(self.model._base_manager.filter(pk__in=some).delete()[0] for some in parts)

    def _blank(self, doomed: PurgedTexts, found: Sequence[tuple[Any, ...]]) -> int:
        quotes, gone = self.looks_for(doomed), 0
        for pk, *values in found:
            now = dict[str, Any]()
            for column, value in zip(self.columns, values, strict=True):
                limit = getattr(self.model._meta.get_field(column), "max_length", None)
                blanked = quotes.blank(value)
                now[column] = blanked[:limit] if limit and isinstance(value, str) else blanked
            self.model._base_manager.filter(pk=pk).update(**now)
            gone += not quotes.are_in([*now.values()])
        return gone

    def describe(self, actor: Actor, doomed: PurgedTexts) -> Iterator[str]:
        """Lines with the rows that quote a text: by name what the actor may read, and the number of the others."""
        found = [row[0] for row in self.find(doomed)]
        readable = found if actor.all_groups else []
        if self.group and not actor.all_groups:
            entered = Group.objects.filter(key__in=actor.roles).values("id")
            mine = self.model._base_manager.filter(**{f"{self.group}__in": entered})
            parts = (mine.filter(pk__in=some).values_list("pk", flat=True) for some in batches(found))
            readable = [pk for part in parts for pk in part]
        if readable:
            shown = self.model._base_manager.filter(pk__in=sorted(readable)[:MAX_NAMED]).order_by("pk")
            rows = shown.values_list(*self.names) if self.names else ()
            named = ", ".join(".".join(map(str, row)) for row in rows)
            yield f"{len(readable)} {self.line}" + (f": {named}" if named else "")
        if others := len(found) - len(readable):
            yield f"{others} {self.line}, in groups that you may not read"


@dataclass(frozen=True)
class ClearedCopies:
    """The result for copies outside the database, in words: what was checked, and where the text may remain.

    `scan` is "done" or "left out" from what searches the files, empty from all others.
    """

    checked: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()
    scan: str = ""


class OutsideCopies:
    """A place that no transaction reaches, such as backups."""

    name: ClassVar[str]
    files: ClassVar[tuple[str, ...]] = ()  # names or patterns of its files and folders in LOCI_HOME

    def note(self) -> str:
        """Record, inside its transaction, that a purge is under way: it is finished even after a crash.

        The name of the record goes to clear(), which ends the record of this purge alone; "" without one.
        """
        return ""

    def find(self, doomed: PurgedTexts) -> tuple[str, ...]:
        """Lines with what holds one of the memories or texts; changes nothing, raises nothing."""
        return ()

    def clear(self, doomed: PurgedTexts, *, note: str) -> ClearedCopies:
        """Remove what was purged from the copies, after the commit; raises nothing. `note`: names, with spaces between."""
        return ClearedCopies()


@cache
def all_places() -> dict[str, TextPlace]:
    """The places in the database, by name."""
    return {place.name: place for place in additions("places")}


@cache
def outside_copies() -> dict[str, OutsideCopies]:
    """The copies outside the database, by name."""
    return {copies.name: copies() for copies in additions("outside copies")}


def erase_copies(doomed: PurgedTexts) -> dict[str, int]:
    """Let every place erase, inside the purge's transaction; the numbers of changed and deleted rows, by name, if any."""
    return {place.name: count for place in places_of(doomed) if (count := place.erase(doomed))}


def find_copies(actor: Actor, doomed: PurgedTexts, *, is_preview: bool = False) -> tuple[str, ...]:
    """A line for each place in the database that quotes a text; a preview says what becomes of it."""
    return tuple(
        f"{line} ({place.fate})" if is_preview else line
        for place in places_of(doomed)
        for line in place.describe(actor, doomed)
    )


def find_mentions(actor: Actor, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """A line for each row of another place than memories that the actor may read and that matches."""
    finders = [place.mentions for place in all_places().values() if place.mentions is not None]
    return tuple(line for find in finders for line in find(actor, pattern))


def places_of(doomed: PurgedTexts) -> list[TextPlace]:
    """All places, or those whose rows belong to groups, if only one group's copies are meant."""
    return [place for place in all_places().values() if doomed.within is None or place.group]


def note_outside_copies() -> dict[str, str]:
    """Call note() of all outside copies, inside the purge's transaction; their records, by name."""
    return {name: copies.note() for name, copies in outside_copies().items()}


def find_outside_copies(doomed: PurgedTexts) -> tuple[str, ...]:
    """A line for each outside copy of a memory or text."""
    return tuple(line for copies in outside_copies().values() for line in copies.find(doomed))


def clear_outside_copies(doomed: PurgedTexts, notes: dict[str, str]) -> ClearedCopies:
    """Clear all outside copies, after the commit, and ask each again; `notes` is from note_outside_copies()."""
    found = [
        (copies.clear(doomed, note=notes[name]), copies.find(doomed))
        for name, copies in outside_copies().items()
    ]
    return ClearedCopies(
        tuple(line for one, _ in found for line in one.checked),
        tuple(dict.fromkeys(line for one, still in found for line in (*one.remains, *still))),
        "".join(one.scan for one, _ in found),
    )


def encodings_of(text: str) -> set[str]:
    """The text as rows and files may contain it: plain, and as JSON in JSON, with non-ASCII letters escaped or not."""
    forms = {text}
    for _ in range(_MAX_ENCODED):
        forms |= {
            json.dumps(form, ensure_ascii=is_ascii)[1:-1] for form in forms for is_ascii in (True, False)
        }
    return forms


def contains_any(stream: IO[bytes], needles: Sequence[bytes]) -> bool:
    """True if the stream contains one of the byte strings; ASCII letters match in any case."""
    needles = [needle.lower() for needle in needles]
    overlap, rest = max(map(len, needles), default=1) - 1, b""
    while chunk := stream.read(CHUNK_BYTES):
        part = rest + chunk.lower()
        if any(needle in part for needle in needles):
            return True
        rest = part[-overlap:] if overlap else b""
    return False
