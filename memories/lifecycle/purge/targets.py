"""What a removal reaches: versions, wordings and quotes of memories, and what was made from them."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from access.actor import CURATE, Actor
from access.errors import InvalidInput
from memories.language.cleaning import first_words
from memories.lifecycle.purge.places import MEMORIES
from memories.models import Memory
from memories.queries.by_text import left_out_with, single_version_copies
from memories.queries.conflicts import read_plan
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.versions import head_of, versions_of
from memories.queries.visibility import is_outlasting
from memories.store.derived import WithdrawalReach, find_reach
from memories.store.places import PurgedTexts, all_places
from memories.store.withdrawn.left_out import also_left_out
from memories.types import State

MAX_QUOTES = 200  # memories that quote a text and are purged with it, in one transaction
SHOWN_WORDS = 12


@dataclass(frozen=True)
class PurgeTargets:
    """What a removal destroys: memories with their wordings, and everything made from their texts.

    `others` are destroyed besides the named ones because of their words. `staying` pairs a wording of one with the memory
    that it is a former version of: both stay. `hidden` stay as well, and recall leaves them out, since the texts are withdrawn.
    """

    own: tuple[Memory, ...]
    reach: WithdrawalReach | None = None
    shown: frozenset[int] = frozenset()
    others: tuple[Memory, ...] = ()
    staying: tuple[tuple[Memory, Memory], ...] = ()
    hidden: tuple[Memory, ...] = ()

    @property
    def rows(self) -> list[Memory]:
        """All rows, each once."""
        made = self.reach.doomed() if self.reach is not None else ()
        return list({row.key: row for row in (*self.own, *made)}.values())

    def describe(self, *, is_done: bool = False) -> tuple[str, ...]:
        """What becomes of others, one sentence each; the answer to a purge, which is kept for retries, has no words of them."""
        words = {
            row.id: "" if is_done else f": “{first_words(row.content, SHOWN_WORDS)}”" for row in self.others
        }
        return (
            *(f"{id_} is destroyed too{said}" for id_, said in words.items()),
            *(
                f"{old.id}, a wording of it, is a former version of {now.id}, which stays"
                for old, now in self.staying
            ),
            *also_left_out(self.own, self.hidden),
            *(self.reach.describe(is_purge=True) if self.reach is not None else ()),
        )


def find_purge_targets(memories: Sequence[Memory], others: Sequence[Memory] = ()) -> PurgeTargets:
    """What a purge of the named memories, at least one, and of others would destroy; writes nothing."""
    named = {row.root_key for row in memories}
    also = [*others, *(copy for each in (*memories, *others) for copy in single_version_copies(each))]
    also = list({row.root_key: row for row in also if row.root_key not in named}.values())
    own = with_wordings([row for each in (*memories, *also) for row in _versions_to_purge(each)])
    hidden = left_out_with(own)
    reach = find_reach(memories[0], own, hidden=hidden)
    shown = named | {row.root_key for row in (*also, *reach.doomed())}
    found = PurgeTargets(tuple(own), reach, frozenset(shown), tuple(also), tuple(find_staying(own)))
    gone = set(found.rows)
    return replace(found, hidden=tuple(row for row in hidden if row not in gone))


def find_quoting(actor: Actor, memories: Sequence[Memory]) -> list[Memory]:
    """The memories that quote one of these and that the actor may curate. Raises InvalidInput for too many."""
    texts = texts_of(find_purge_targets(memories).rows)
    keys = [key for key, *_ in all_places()[MEMORIES].find(texts)]
    if len(keys) > MAX_QUOTES:
        raise InvalidInput(
            f"{len(keys)} memories quote it; at most {MAX_QUOTES} can be purged with it.",
            hint="Purge it without its quotes, then the others one by one.",
            field="quotes",
        )
    rows = Memory.objects.filter(key__in=keys).select_related(*RELATED_ROWS).order_by("key")
    return [row for row in rows if actor.may(CURATE, row.group_id)]


def _versions_to_purge(memory: Memory) -> list[Memory]:
    """All versions of a memory; of a plan whose day has not come only the plan's own, since the others hold today."""
    head, versions = head_of(memory), versions_of(memory)
    plan = read_plan(head, timezone.now())
    others = {row.key for row in plan.replaces} | {
        row.key for row in versions if row.state == State.LIVE and row.key != head.key
    }
    holds = any(row.key in others for row in versions)
    return list(plan.rows) if holds and memory.key in {row.key for row in plan.rows} else versions


def with_wordings(rows: Sequence[Memory]) -> list[Memory]:
    """The rows, and all versions of whatever went into them: other wordings, and chains that they superseded.

    A chain that leads elsewhere, or still counts, is a memory of its own: it is not entered.
    """
    found, now = {row.key: row for row in rows}, timezone.now()
    fresh = list(found)
    while fresh:
        chains = dict[int, list[Memory]]()
        for row in versions_of_all(_went_into(fresh)):
            chains.setdefault(row.root_key, []).append(row)
        fresh = []
        for chain in chains.values():
            inside = found.keys() | {row.key for row in chain}
            if all(row.key in found or (is_past(row, inside) and not counts(row, now)) for row in chain):
                fresh += [row.key for row in chain if row.key not in found]
                found |= {row.key: row for row in chain}
    return list(found.values())


def is_past(row: Memory, keys: Set[int]) -> bool:
    """True if one of these rows took its place, or none did although it is superseded."""
    return row.superseded_by_id in keys or (row.superseded_by_id is None and row.state == State.SUPERSEDED)


def _went_into(keys: Iterable[int]) -> list[Memory]:
    """The rows that were merged into these or superseded by them."""
    went_in = Q(superseded_by__in=list(keys), state__in=[State.MERGED, State.SUPERSEDED])
    return list(Memory.objects.filter(went_in))


def versions_of_all(rows: Iterable[Memory]) -> Iterator[Memory]:
    """All rows of these rows' chains."""
    roots = {row.root_key for row in rows}
    chains = Memory.objects.filter(Q(root__in=roots) | Q(key__in=roots))
    return iter(chains.select_related("group", "thread").order_by("key") if roots else ())


def find_staying(own: Sequence[Memory]) -> Iterator[tuple[Memory, Memory]]:
    """The wordings of rows that are former versions of a memory of its own, each with the next version."""
    keys = {row.key for row in own}
    wordings = [row for row in _went_into(keys) if row.key not in keys and row.state == State.MERGED]
    chain = list(versions_of_all(wordings))
    for row in wordings:
        later = [other for other in chain if other.root_key == row.root_key and other.key > row.key]
        if later:
            yield row, later[0]


def counts(row: Memory, now: datetime) -> bool:
    """True if the row is live, or superseded by a memory dated ahead and in force until then."""
    return row.state == State.LIVE or is_outlasting(row, now)


def texts_of(rows: Sequence[Memory]) -> PurgedTexts:
    """The rows as the places take them."""
    return PurgedTexts(
        tuple(row.key for row in rows),
        tuple(dict.fromkeys(row.content for row in rows)),
        tuple(row.id for row in rows),
        tuple({row.group_id for row in rows}),
    )
