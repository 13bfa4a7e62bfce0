"""What holds after each step of a history, one function for each promise; each yields the faults that it finds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.changes.faults import Fault, shown_chain, shown_row, what_differs
from tests.changes.rows import COMPARED, COUNTING, Row, Rows, has_ended, has_passed, head_of, rank, root_of
from tests.changes.rules import rules_are_kept
from tests.changes.world import (
    GROUPS,
    PEOPLE,
    PRIVATE,
    TEXTS,
    Offer,
    Step,
    World,
    doctor_faults,
    is_log_unbroken,
)

EVERYWHERE = tuple(
    (who, group) for who in ("agent", "curator") for group in GROUPS if (who, group) != ("agent", PRIVATE)
)


@dataclass(frozen=True)
class Undoable:
    """An undo that was offered: the step that it takes back, the tables before and after that step.

    `others` are the chains that other agents, people or imports have changed since.
    """

    offer: Offer
    before: Rows
    after: Rows
    others: set[int] = field(default_factory=set)

    def note(self, who: str, before: Rows, after: Rows) -> None:
        """Note a later step."""
        if who not in (self.offer.who, "job"):
            self.others.update(touched_roots(before, after))


@dataclass
class Oracle:
    """What the oracle remembers of a history: the trust that each text may have without a person."""

    ceilings: dict[tuple[int, str], int] = field(default_factory=dict)

    def judge(self, world: World, step: Step, before: Rows, after: Rows) -> Iterator[Fault]:
        """The faults of a step that was carried out."""
        yield from nothing_hidden_is_recalled(world, after, (("agent", "ledger"),))
        yield from trust_rises_by_people_alone(self.ceilings, step, before, after)
        yield from nothing_that_counts_vanishes(world, step, before, after)
        yield from no_plan_leaves_a_gap(step, before, after)
        yield from rules_are_kept(world, step, before, after)


# 1. An undo that was offered restores everything.


def undo_restores(undone: Undoable, now: Rows, then: Rows) -> Iterator[Fault]:
    """Compare what an undo left (`then`) with what was there before the change; `now` are the tables before the undo.

    A chain that was changed in between is left out, and so is a row of another table about one, and a new memory that
    something leads to since.
    """
    before, after = undone.before, undone.after
    what = undone.offer.what
    for root in before.chains.keys() | after.chains.keys() | now.chains.keys() | then.chains.keys():
        wrote = before.chain_facts(root) != after.chain_facts(root)
        if after.chain_facts(root) != now.chain_facts(root):
            if wrote and root in undone.others and takes_back_more(after, now, then, root):
                yield Fault(f"undo of {what} takes back what others did since", shown_chain(now, then, root))
            if not wrote and now.chain_facts(root) != then.chain_facts(root):
                yield Fault(f"undo of {what} changes another memory", shown_chain(now, then, root))
            continue
        if root not in before.chains and is_used_since(after, now, root):
            continue  # it was stored again, or something leads to it
        for name in dict.fromkeys(differing(before, then, root)):
            yield Fault(f"undo of {what} leaves {name}", shown_chain(before, then, root))
    yield from other_rows_are_back(undone, now, then)


def is_used_since(after: Rows, now: Rows, root: int) -> bool:
    """True if a relation, a link, a proof or another memory leads to the chain since, or it was stored again."""
    return (
        any(root in name[1] for name in now.others.keys() - after.others.keys())
        or after.last_logged(root) != now.last_logged(root)
        or leading_to(now, root) > leading_to(after, root)
    )


def leading_to(rows: Rows, root: int) -> set[int]:
    """The memories of other chains that were replaced by one of this chain, or became part of it."""
    keys = {row["key"] for row in rows.chains.get(root, ())}
    return {
        row["key"]
        for row in rows.memories.values()
        if row["superseded_by_id"] in keys and root_of(row) != root
    }


def takes_back_more(after: Rows, now: Rows, then: Rows, root: int) -> bool:
    """True if an undo changed what differs between the end of its own change and now."""
    own, since, left = (rows.standing(root, then.at) for rows in (after, now, then))
    if len(own) != len(since):
        return len(left) != len(since)
    return len(left) == len(since) and any(
        mine[name] != theirs[name] != now_[name]
        for mine, theirs, now_ in zip(own, since, left, strict=True)
        for name in COMPARED
    )


def differing(before: Rows, then: Rows, root: int) -> Iterator[str]:
    """The names of what differs in a chain from before, but for the rules."""
    was, is_ = before.standing(root, then.at), then.standing(root, then.at)
    if root not in before.chains:
        if is_:
            yield "the new memory live"
        return
    if len(was) != len(is_):
        yield "a memory withdrawn" if len(was) > len(is_) else "a withdrawn memory live"
        return
    for old, new in zip(was, is_, strict=True):
        for name in COMPARED:
            if old[name] != new[name]:
                yield what_differs(name, old, new)
        if before.findings.get(old["key"], ()) != then.findings.get(new["key"], ()):
            yield "other findings"
    if not was:
        for row in before.chains[root]:
            current = then.memories.get(row["key"])
            same = current is not None and (current["state"], current["trust"]) == (
                row["state"],
                row["trust"],
            )
            if not same and not has_ended(row, then.at):
                yield "another state of what is withdrawn"
    if before.refs(root) - then.refs(root):
        yield "the source_ref lost"


def other_rows_are_back(undone: Undoable, now: Rows, then: Rows) -> Iterator[Fault]:
    """Links, tombstones, proposals, relations, evidence and checkpoints."""
    before, after = undone.before, undone.after
    for name in before.others.keys() | after.others.keys() | then.others.keys():
        table, roots, _ = name
        if any(after.chain_facts(root) != now.chain_facts(root) for root in roots):
            continue
        if after.others.get(name) != now.others.get(name):
            continue
        old, new = before.others.get(name), then.others.get(name)
        if table == "link" and new == "open" and any(comes_back(root, now, then) for root in roots):
            continue  # what comes back is compared as a store compares it
        if closed(before, name, old, then.at) != closed(then, name, new, then.at):
            yield Fault(
                f"undo of {undone.offer.what} leaves a {table}", f"{name}: {old} before, {new} after the undo"
            )


def comes_back(root: int, now: Rows, then: Rows) -> bool:
    """True if a text of the chain counts after the undo and did not before it."""
    return bool(_counting(root, then, then.at) - _counting(root, now, then.at))


def _counting(root: int, rows: Rows, at: datetime) -> set[int]:
    """The keys of what stands of a chain, without what is withdrawn."""
    return {row["key"] for row in rows.standing(root, at) if row["trust"] not in ("quarantined", "rejected")}


def closed(rows: Rows, name: tuple[Any, ...], value: Any, now: datetime) -> Any:
    """The value of a row of another table; None for one that is closed, or about a memory that stands no more."""
    table, roots, _ = name
    if table == "link":
        is_open = value == "open" and all(rows.standing(root, now) for root in roots)
        return value if is_open else None
    if table in ("proposal", "doubt"):
        return value if value in ("waiting", "open") else None
    return value


def undo_is_not_refused(undone: Undoable, now: Rows, why: str) -> Iterator[Fault]:
    """An undo that was refused, though nothing that the change touched was changed since, was no offer."""
    offer = undone.offer
    if offer.hours is not None and now.at >= undone.after.at + timedelta(hours=offer.hours):
        return
    roots = touched_roots(undone.before, undone.after)
    if any(undone.after.last_logged(root) != now.last_logged(root) for root in roots):
        return
    if any(is_used_since(undone.after, now, root) for root in roots):
        return
    returning = [row for root in roots for row in undone.before.standing(root, now.at)]
    since = now.barred_by(now.tombstones - (undone.after.tombstones - undone.before.tombstones))
    if since & {row["fold_hash"] for row in returning}:
        return  # a text that is withdrawn elsewhere does not come back
    was = undone.before
    for row in returning:  # nor one that a person had rejected in another memory already
        if row["fold_hash"] in was.barred_by(
            {mark for mark in was.tombstones if root_of(row) not in mark[1]}
        ):
            return
    if any(is_live_elsewhere(row, undone.after, now) for row in returning):
        return  # nor one that was stored anew
    about = {
        name
        for rows in (undone.after, now)
        for name in rows.others
        if not roots or roots & {*name[1]} or not name[1]
    }
    if all(undone.after.others.get(name) == now.others.get(name) for name in about):
        yield Fault(f"undo of {offer.what} is offered and refused", why)


def is_live_elsewhere(row: Row, after: Rows, now: Rows) -> bool:
    """True if another memory of the group has the row's text, and did not have it when the undo was offered."""

    def others(rows: Rows) -> set[int]:
        return {
            other["key"]
            for other in rows.memories.values()
            if (other["state"], other["group_id"], other["fold_hash"])
            == ("live", row["group_id"], row["fold_hash"])
            and root_of(other) != root_of(row)
        }

    return bool(others(now) - others(after))


def touched_roots(before: Rows, after: Rows) -> set[int]:
    """The chains that a step changed, or that a row of another table which it changed is about."""
    roots = before.chains.keys() | after.chains.keys()
    changed = {root for root in roots if before.chain_facts(root) != after.chain_facts(root)}
    names = before.others.keys() | after.others.keys()
    return changed | {
        root
        for name in names
        if before.others.get(name) != after.others.get(name)
        for root in name[1]
        if root
    }


# 2. What is hidden stays hidden.


def nothing_hidden_is_recalled(
    world: World, after: Rows, where: Iterable[tuple[str, str]] = EVERYWHERE
) -> Iterator[Fault]:
    """No actor's recall may return what is quarantined, withdrawn, waiting, or of a group that is closed to it."""
    barred = {name[2][0] for name in after.others if name[0] == "tombstone"}
    for who, group in where:
        for key in world.may_recall(who, group):
            yield from hidden_row(world, who, group, after.memories[key], barred)


def hidden_row(world: World, who: str, group: str, row: Row, barred: set[Any]) -> Iterator[Fault]:
    """The fault of a row that recall may return and must not."""
    shown = f"{who} in {group}: {shown_row(row)}"
    if row["trust"] in ("quarantined", "rejected", "candidate") or row["state"] not in ("live", "superseded"):
        yield Fault(f"recall returns what is {row['trust']} and {row['state']}", shown)
    if row["scope"] != "global" and row["group_id"] != world.groups[group].key:
        yield Fault("recall returns a memory of another group", shown)
    if row["id"] in barred and row["state"] == "live":
        yield Fault("recall returns a text that is barred", shown)


def nothing_hidden_is_shown(world: World, after: Rows) -> Iterator[Fault]:
    """No answer, pack or brief contains a text that none of the rows has which recall may return, now or on a plan's day."""
    plans = [
        row["content"]
        for row in after.memories.values()
        if (row["state"], row["group_id"]) == ("live", world.groups["ledger"].key)
        and row["trust"] in COUNTING
        and row["valid_from"] is not None
        and row["valid_from"] > after.at
    ]
    for who in ("agent", "curator"):
        visible = " ".join([*plans, *world.may_recall(who, "ledger").values()])
        hidden = {row["content"] for row in after.memories.values() if row["content"] not in visible}
        for place, text in world.shown(who, "ledger").items():
            for content in hidden:
                if content in text and len(content.split()) > 1:  # a name stands in other texts too
                    yield Fault(
                        f"the {place.partition(' of ')[0]} shows what is hidden",
                        f"{content!r} to {who}: {text[:300]}",
                    )


# 3. Trust rises by people alone.


def trust_rises_by_people_alone(
    ceilings: dict[tuple[int, str], int], step: Step, before: Rows, after: Rows
) -> Iterator[Fault]:
    """No text becomes more trusted by an agent, an import or a job than it was, or than a person left it.

    A text that is new in its group may be active at once, where the policy lets it in; so may a candidate that is stored again.
    """
    who, verb, *arguments = step
    if verb == "lift":  # by a person: the text may be stored again
        lifted = [
            row for row in after.memories.values() if row["content"] == TEXTS[arguments[0].partition("/")[0]]
        ]
        for row in lifted:
            name = (row["group_id"], row["fold_hash"])
            ceilings[name] = max(rank("active"), ceilings.get(name, -1))
    for row in changed_rows(before, after):
        name = (row["group_id"], row["fold_hash"])
        old = before.memories.get(row["key"], row | {"state": ""})
        if who in PEOPLE:
            note_decision(ceilings, name, old, row)
            # The text stands where another memory with it counts: only this one was decided about.
            same = [each for each in after.memories.values() if (each["group_id"], each["fold_hash"]) == name]
            counting = [
                rank(each["trust"]) for each in same if each["state"] == "live" and each["trust"] in COUNTING
            ]
            if name in ceilings:
                ceilings[name] = max([ceilings[name], *counting])
            continue
        if row["state"] != "live" or (old["state"] == "live" and rank(row["trust"]) <= rank(old["trust"])):
            continue
        most = ceilings.get(name)
        is_let_in = (
            verb in ("store", "edit", "import", "relate")
            and most == rank("candidate")
            and row["trust"] == "active"
        )
        waits = row["key"] not in before.memories and row["trust"] == "candidate"
        is_new = most is None and rank(row["trust"]) <= rank("active")
        if not (is_new or is_let_in or waits) and (most is None or rank(row["trust"]) > most):
            was = "nothing" if most is None else f"rank {most}"
            yield Fault(
                f"{verb} by {kind_of(who)} makes a text {row['trust']}", f"{shown_row(row)} had {was}"
            )
        ceilings[name] = max(rank(row["trust"]), -1 if most is None else most)


def kind_of(who: str) -> str:
    """The kind of actor."""
    return "an agent" if who in ("agent", "second") else who


def note_decision(ceilings: dict[tuple[int, str], int], name: tuple[int, str], old: Row, row: Row) -> None:
    """A person's decision sets how far the text may be trusted from now on; a new row that waits lowers nothing."""
    if row["state"] == "live" and (old["state"] or row["trust"] in COUNTING):
        ceilings[name] = rank(row["trust"])
    elif row["state"] == "live":
        ceilings[name] = max(rank("candidate"), ceilings.get(name, 0))
    elif row["state"] == "retracted":
        # An agent may store it again as a candidate where it does not match exactly.
        ceilings[name] = rank("candidate")
    elif old["state"] == "retracted":  # taken back
        ceilings[name] = rank(row["trust"])


def changed_rows(before: Rows, after: Rows) -> Iterator[Row]:
    """The rows that are new, or whose state or trust is another."""
    for key, row in after.memories.items():
        old = before.memories.get(key)
        if old is None or any(old[name] != row[name] for name in ("state", "trust", "group_id")):
            yield row


# 4. Nothing that counts vanishes.


def nothing_that_counts_vanishes(world: World, step: Step, before: Rows, after: Rows) -> Iterator[Fault]:
    """A live, trusted row leaves the table only if a person purged its own chain, or its end had come."""
    named = named_roots(step, before)
    for key in before.memories.keys() - after.memories.keys():
        row = before.memories[key]
        counts = row["state"] == "live" and row["trust"] in COUNTING and not has_ended(row, before.at)
        if counts and root_of(row) not in named:
            yield Fault(f"{step[1]} destroys a memory that counts", shown_row(row))


def named_roots(step: Step, before: Rows) -> set[int]:
    """The chains that a person's purge names."""
    who, verb, *arguments = step
    if who not in PEOPLE or verb != "purge":
        return set()
    text, _, which = arguments[0].partition("/")
    rows = [row for row in before.memories.values() if row["content"] == TEXTS[text]]
    if not rows:
        return set()
    row = (min if which else max)(rows, key=lambda row: row["key"])
    # A wording is named by the memory that it became part of, and a text by each memory that has it.
    texts = [each for each in before.memories.values() if each["fold_hash"] == row["fold_hash"]]
    same = [each for each in texts if each["group_id"] == row["group_id"]]
    return {root_of(head_of(before, each) or each) for each in same} | {root_of(each) for each in same}


# 5. No plan leaves a gap.


def no_plan_leaves_a_gap(step: Step, before: Rows, after: Rows) -> Iterator[Fault]:
    """What counts until the day of a plan has one: a plan that is gone gives it back, a plan that is moved moves its end."""
    for row in after.memories.values():
        is_replaced = row["state"] == "superseded" and row["type"] != "episodic" and row["retired_at"] is None
        if not is_replaced or row["valid_to_known_at"] is None or row["valid_to"] is None:
            continue
        if row["valid_from"] is not None and row["valid_from"] >= row["valid_to"]:
            continue  # a plan that was replaced before its day
        plan = head_of(after, row)
        was = before.memories.get(row["key"])
        if plan is None or plan["key"] == row["key"]:
            if not has_passed(row["valid_to"], after.at):
                yield Fault(f"{step[1]} leaves a plan's predecessor without the plan", shown_row(row))
        elif plan["state"] != "live" and not has_passed(row["valid_to"], after.at) and was is not None:
            yield Fault(
                f"{step[1]} ends a plan and not the end of what it was to replace",
                f"{shown_row(row)} → {shown_row(plan)}",
            )
        elif (
            plan["state"] == "live"
            and plan["superseded_by_id"] is None
            and plan["valid_from"] is not None
            and not has_passed(plan["valid_from"], after.at)
            and row["valid_to"] < plan["valid_from"]
            and row["valid_to"] > row["valid_to_known_at"]
            and (was is None or was["valid_to"] != row["valid_to"])  # an end of its own stays
        ):
            yield Fault(f"{step[1]} leaves a gap before a plan", f"{shown_row(row)} → {shown_row(plan)}")


# 6. The log and the store are whole.


def log_is_whole() -> Iterator[Fault]:
    """Every chain of the audit log verifies."""
    if not is_log_unbroken():
        yield Fault("the audit log is broken", "")


def store_is_well() -> Iterator[Fault]:
    """The doctor finds nothing."""
    for line in doctor_faults():
        yield Fault(f"the doctor: {line.partition(':')[0]}", line)
