"""BaseStore on a Loci server."""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from loci_team_memory_client import Loci, NotFound, NotPermitted, calls

from loci_team_memory_langgraph import items

logger = logging.getLogger(__name__)
_MAX_RESULTS: Final = 100  # of one recall
_TOKENS: Final = 100_000
_Row = tuple[items.Memory, dict[str, Any]]  # a memory and the address of the item that it holds


class LociStore(BaseStore):
    """A store whose items are memories of Loci.

    `group`: where all items go; without one, the first label of a namespace names the group. A search with a query looks at
    the best 100 memories, and finds none if nothing answers it. Raises LociError.
    """

    supports_ttl = True
    __slots__ = ("_group", "_loci", "ttl_config")

    def __init__(self, loci: Loci, *, group: str = "", ttl: TTLConfig | None = None) -> None:
        self._loci, self._group = loci, group
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads first, then writes; of several writes of one item, the last."""
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            match op:
                case GetOp():
                    results.append(self._get(op))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._namespaces(op))
                case PutOp():
                    puts[op.namespace, op.key] = op
                    results.append(None)
                case _:
                    raise ValueError(f"Unknown operation type: {type(op)}")
        for put in puts.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, waited for in a thread."""
        return await asyncio.to_thread(self.batch, [*ops])

    def _group_of(self, namespace: tuple[str, ...]) -> str:
        """The group of a namespace; empty for all groups that the token may see."""
        return self._group or (namespace[0] if namespace else "")

    def _get(self, op: GetOp) -> Result:
        row = self._find(op.namespace, op.key)
        if row is None:
            return None
        if op.refresh_ttl:
            self._refresh(row)
        return items.as_item(items.item_of(*row))

    def _find(self, namespace: tuple[str, ...], key: str) -> _Row | None:
        place = ([*namespace], key)
        rows = self._rows(self._group_of(namespace), items.key_tags(namespace, key))
        return next((row for row in rows if (row[1]["namespace"], row[1]["key"]) == place), None)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        ranked = self._recall(op) if op.query else ((row, None) for row in self._below(op.namespace_prefix))
        found = (
            (row, item)
            for row, score in ranked
            if items.fits((item := items.item_of(*row, score=score)).value, op.filter or {})
        )
        page = [*islice(found, op.offset, op.offset + op.limit)]
        for row, _ in page if op.refresh_ttl else ():
            self._refresh(row)
        return [item for _, item in page]

    def _below(self, prefix: tuple[str, ...]) -> Iterator[_Row]:
        for row, address in self._rows(self._group_of(prefix), items.tags_of(prefix)):
            if address["namespace"][: len(prefix)] == [*prefix]:
                yield row, address

    def _rows(self, group: str, tags: list[str]) -> Iterator[_Row]:
        """The items with all these tags, newest first; the query knows the token's rights."""
        where = {"group": group} if group else {}
        try:
            for row in self._loci.every(
                calls.list_all_memories, tag=tags, state=["live"], limit=100, **where
            ):
                address = items.address_of(row)
                if address is not None and row.group == (group or row.group):
                    yield row, address
        except NotFound:  # a first item may make the group
            return

    def _recall(self, op: SearchOp) -> Iterator[tuple[_Row, float | None]]:
        """The items that answer the query, best first."""
        prefix = op.namespace_prefix
        group = self._group_of(prefix)
        hits: list[calls.ItemOut] = []
        for slug in [group] if group else [each.slug for each in self._loci.list_groups().items]:
            answer = self._loci.recall_memories(
                query=op.query or "",
                group=slug,
                where={"tags": items.tags_of(prefix), "source": items.MARK},
                max_results=_MAX_RESULTS if op.filter else min(_MAX_RESULTS, op.offset + op.limit),
                token_budget=_TOKENS,
            )
            hits += answer.results
        seen = set[str]()
        for hit in sorted(hits, key=lambda each: -each.score):
            # Events that say the same, or stand behind a summary, are named once in an answer.
            others = [each.id for each in (*(hit.also_in or ()), *(hit.events or ()))]
            for id_ in (hit.id, *others):
                if id_ in seen:
                    continue
                seen.add(id_)
                is_whole = (
                    id_ == hit.id and not hit.is_cut and hit.summary is None
                )  # else a part of the text answers
                row: items.Memory = hit if is_whole else self._loci.read_memory(id_)
                address = items.address_of(row)
                is_below = address is not None and address["namespace"][: len(prefix)] == [*prefix]
                if address is not None and is_below and address.get("indexed", True):
                    yield (row, address), hit.score

    def _refresh(self, row: _Row) -> None:
        """Renew an item's TTL, at most once per tenth of it, so that reads seldom write."""
        memory, address = row
        ttl = address.get("ttl")
        if ttl is None or memory.expires_at is None:
            return
        left = datetime.fromisoformat(memory.expires_at) - datetime.now(UTC)
        if left > timedelta(minutes=ttl) * 0.9:
            return
        try:
            self._loci.edit_memory(memory.id, expires_at=items.until(ttl))
        except NotPermitted:
            logger.debug("%s expires when it was to: the token may not write", memory.id)

    def _put(self, op: PutOp) -> None:
        if op.value is None:
            self._delete(op)
            return
        wanted = items.stored_as(op.namespace, op.key, op.value, is_indexed=op.index is not False, ttl=op.ttl)
        stored = self._loci.store_memory(group=self._group_of(op.namespace), **wanted)
        hidden = [
            each for each in stored.findings or () if each.treatment == "mask" and each.field != "content"
        ]
        if hidden:  # it could not be found again
            if stored.undo is not None:
                self._loci.undo_one_write(stored.undo)
            raise ValueError(f"Loci does not store the address {op.namespace} {op.key!r}: {hidden[0].words}.")
        if stored.outcome == "unchanged" and stored.id is not None:
            self._bring_up_to_date(stored.id, wanted)
        elif stored.outcome == "queued":
            logger.warning("%s %r waits in Loci's Review: %s", op.namespace, op.key, stored.why)

    def _bring_up_to_date(self, id_: str, wanted: dict[str, Any]) -> None:
        """The text is stored already: perhaps it was deleted since, or its address or end differs."""
        row = self._loci.read_memory(id_)
        if row.state != "live":
            self._loci.do_to_memory(id_, "restore")
        changes: dict[str, Any] = {}
        if row.metadata != wanted["metadata"]:
            changes["metadata"] = wanted["metadata"]
        if wanted["expires_at"] is not None or row.expires_at is not None:
            changes["expires_at"] = wanted["expires_at"]
        if changes:
            self._loci.edit_memory(id_, **changes)

    def _delete(self, op: PutOp) -> None:
        """Forget an item; a person can bring it back for a while."""
        row = self._find(op.namespace, op.key)
        if row is not None and (done := self._loci.delete_memory(row[0].id)).outcome == "queued":
            logger.warning("the deletion of %s %r waits in Loci's Review: %s", op.namespace, op.key, done.why)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        starts = [each.path for each in conditions if each.match_type == "prefix" and "*" not in each.path]
        rows = self._below(max(starts, key=len, default=()))
        every = {tuple(address["namespace"]) for _, address in rows}
        found = {
            name[: op.max_depth] for name in every if all(items.matches(name, each) for each in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]
