"""Rules that every step keeps, besides the promises of `oracle`: one function each."""

from collections import Counter
from collections.abc import Iterator

from memories.language.dress import fold_hash
from memories.types import RELATION_SOURCE
from tests.changes.faults import Fault, shown_row
from tests.changes.rows import COUNTING, Rows, root_of
from tests.changes.steps import cap_of
from tests.changes.world import SOURCE, TEXTS, Step, World


def rules_are_kept(world: World, step: Step, before: Rows, after: Rows) -> Iterator[Fault]:
    """All of them, for a step that was carried out."""
    yield from texts_never_change(step, before, after)
    yield from one_version_counts(step, after)
    yield from one_group_a_chain(step, after)
    yield from no_conflict_disappears(step, before, after)
    yield from file_is_followed(world, step, after)
    yield from share_is_kept(step, before, after)


def texts_never_change(step: Step, before: Rows, after: Rows) -> Iterator[Fault]:
    """A row's text stays, and a row leaves the table only by a purge, by retention, or with the run that made it."""
    for key, row in before.memories.items():
        now = after.memories.get(key)
        if now is None and step[1] not in ("purge", "retention", "undo of cycle"):
            yield Fault(f"{step[1]} destroys a memory", shown_row(row))
        if now is not None and now["content"] != row["content"]:
            yield Fault(f"{step[1]} changes a text", shown_row(now))


def share_is_kept(step: Step, before: Rows, after: Rows) -> Iterator[Fault]:
    """A run retires no more of a group than its share."""
    if step[1] != "cycle" or len(step) < 3:
        return
    for group in {row["group_id"] for row in before.memories.values()}:
        live = [
            row["key"]
            for row in before.memories.values()
            if (row["state"], row["group_id"]) == ("live", group)
        ]
        gone = [key for key in live if key not in after.memories or after.memories[key]["state"] != "live"]
        if len(gone) > cap_of(step[2], len(live)):
            yield Fault("cycle retires more than its share", f"{len(gone)} of {len(live)}, share {step[2]}")


def refusal_changes_nothing(step: Step, before: Rows, after: Rows) -> Iterator[Fault]:
    """A step that is refused leaves every row as it was."""
    if (
        before.memories != after.memories
        or before.others != after.others
        or before.findings != after.findings
    ):
        yield Fault(f"{step[1]} is refused and changes something", "")


def one_version_counts(step: Step, after: Rows) -> Iterator[Fault]:
    """One live version a chain, and one live memory of the same text, scope, type and group, but for events."""
    live = [row for row in after.memories.values() if row["state"] == "live"]
    # What was rejected is no version that counts: what it was to replace counts again.
    standing = [row for row in live if row["trust"] not in ("rejected", "quarantined")]
    for root, count in Counter(map(root_of, standing)).items():
        if count > 1:
            yield Fault(f"{step[1]} leaves two live versions", str(root))
    texts = Counter(
        (row["group_id"], row["scope"], row["type"], row["content"])
        for row in live
        if row["type"] != "episodic" and row["source"] != RELATION_SOURCE
    )
    for name, count in texts.items():
        if count > 1:
            yield Fault(f"{step[1]} leaves one text live twice", str(name))
    for row in after.memories.values():
        summary = after.memories.get(row["summary_id"])
        if row["summary_id"] is not None and (summary is None or summary["state"] != "live"):
            yield Fault(f"{step[1]} leaves an event behind a summary that does not stand", shown_row(row))


def one_group_a_chain(step: Step, after: Rows) -> Iterator[Fault]:
    """A memory's root, its successor and its summary are in its own group."""
    for row in after.memories.values():
        for column in ("root_id", "superseded_by_id", "summary_id"):
            other = after.memories.get(row[column])
            if other is not None and other["group_id"] != row["group_id"]:
                yield Fault(f"{step[1]} leaves a chain in two groups", shown_row(row))


def no_conflict_disappears(step: Step, before: Rows, after: Rows) -> Iterator[Fault]:
    """A conflict between two memories that both count stays open, unless a person decides about the link itself."""
    if step[1] in ("review link", "undo of review link"):
        return
    for name, value in before.others.items():
        table, roots, kind = name
        if table == "link" and kind == "conflict" and value == "open" and after.others.get(name) == "settled":
            ends = [row for root in roots for row in after.standing(root, after.at) if row["state"] == "live"]
            if len(ends) == 2 and all(row["trust"] in COUNTING for row in ends):
                yield Fault(
                    f"{step[1]} settles a conflict, and both memories count", " / ".join(map(shown_row, ends))
                )


def file_is_followed(world: World, step: Step, after: Rows) -> Iterator[Fault]:
    """An imported line is what its memory says now, or waits, unless a person or an agent changed the memory by hand."""
    if step[1] != "import":
        return
    by_import = world.actor("import").name
    for ref, text in step[2].items():
        chains = {
            root_of(row)
            for row in after.memories.values()
            if (row["source"], row["source_ref"]) == (SOURCE, ref)
        }
        rows = [row for root in chains for row in after.chains[root]]
        is_waiting = any(
            row["content"] == TEXTS[text] and row["trust"] in ("candidate", "quarantined")
            for row in after.memories.values()
        )
        current = [
            row
            for row in rows
            if (row["state"], row["group_id"]) == ("live", world.groups[step[3]].key)
            and row["trust"] in COUNTING
        ]
        is_barred = fold_hash(TEXTS[text]) in after.barred
        if rows and not is_waiting and not is_barred and all(row["author_name"] == by_import for row in rows):
            for row in current:
                if row["content"] != TEXTS[text]:
                    yield Fault("import does not follow its file", shown_row(row))
