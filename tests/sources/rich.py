"""A store with something of everything that an export must carry."""

from datetime import UTC, datetime

from django.contrib.auth.models import User

from access.models import Group
from memories.draft import Draft
from memories.lifecycle.verbs import dispute, forget, pin, purge, retract
from memories.models import Checkpoint, Link, LinkKind, Memory, Thread
from memories.store import store
from memories.store.bulk import store_many
from relations.models import EntityAlias, Relation, RelationEvidence
from tests.people import agent, person

WHEN = datetime(2026, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)
LONG = " ".join(f"Sentence {n} speaks of gardens and of water." for n in range(60))


def fill(alice: User, ledger: Group, garden: Group) -> None:
    """Write it: versions, states, trusts, threads, ties, summaries, tombstones, a purge."""
    me = person(alice)
    Group.objects.filter(pk=ledger.pk).update(
        instructions="Be brief.\n", policy="below", policy_confidence=0.25
    )
    kept = [
        store(
            me,
            Draft(
                text, group="ledger", scope="group", tags=("ports", "größe"), metadata={"n": [1, None, 0.1]}
            ),
        )
        for text in ("The port is 8081.", "Ann leads the ledger.", "The cat sleeps on the roof.", LONG)
    ]
    port, lead, cat, _ = [stored.memory for stored in kept if stored.memory is not None]
    newer = store(me, Draft("The port is 9000.", group="ledger", scope="group", supersedes=port.id)).memory
    assert newer is not None
    store(
        me, Draft("The port is 9001 🦉.", group="ledger", scope="group", supersedes=newer.id, valid_from=WHEN)
    )
    retract(me, lead.id, reason="she left")
    forget(me, cat.id)
    gone = store(me, Draft("Ann's code is 1234.", group="garden", scope="group", expires_at=None)).memory
    assert gone is not None
    purge(me, gone.id, reason="asked for")
    turns = [
        Draft(
            text,
            group="garden",
            type="episodic",
            thread="tea",
            source="chat",
            source_ref=str(n),
            valid_from=WHEN,
        )
        for n, text in enumerate(["Hello.", "Hello.", "Bye.\nSee you.", "Hello."])
    ]
    store_many(agent(alice, name="bot"), turns)
    store_many(
        me, [Draft("Roses need lime.", group="garden", source="w", source_ref=str(n)) for n in range(2)]
    )
    roses = Memory.objects.get(content="Roses need lime.", state="live")
    pin(me, roses.id)
    dispute(me, Memory.objects.get(content="Bye.\nSee you.").id, reason="did they?")
    Memory.objects.filter(pk=roses.pk).update(access_count=7, last_accessed=WHEN, decayed_at=WHEN)
    tie(garden, roses)


def tie(garden: Group, proof: Memory) -> None:
    """Write a relation with its proof, aliases, a link, summaries and checkpoints."""
    mine = {"group": garden, "type": "entity", "scope": "group"}
    ann, rose = (
        Memory.objects.create(content=text, content_hash=text[:9], fold_hash=text[:9], **mine)
        for text in ("Ann, the gardener", "The rose by the gate")
    )
    week, month = (
        Memory.objects.create(
            content=text,
            content_hash=text[:9],
            fold_hash=text[:9],
            source="loci:compact",
            **mine | {"type": "episodic"},
        )
        for text in ("2 events, 4 March 2026.", "2 events, March 2026.")
    )
    _as_written(ann, rose, week, month)
    for event in Memory.objects.filter(content="Hello.", thread__name="tea"):
        put_behind(week, event)
    put_behind(month, week)
    relation = Relation.objects.create(
        group=garden, subject=ann, predicate="tends", object=rose, valid_from=WHEN, metadata={"by": "hand"}
    )
    RelationEvidence.objects.create(relation=relation, memory=proof)
    EntityAlias.objects.create(group=garden, memory=ann, name="Annie", fold="annie")
    Link.objects.create(kind=LinkKind.DERIVED, source=rose, target=proof, score=0.93, evidence={"at": 1})
    Checkpoint.objects.create(
        group=garden, thread=Thread.objects.get(name="tea"), state={"step": 3, "open": ["x"]}
    )
    Checkpoint.objects.create(group=garden, state={})


def put_behind(summary: Memory, event: Memory) -> None:
    """Put an event, or the summary of a week, behind the summary that names it."""
    Link.objects.create(kind=LinkKind.DERIVED, source=summary, target=event)
    Memory.objects.filter(pk=event.pk).update(summary=summary)


def _as_written(*memories: Memory) -> None:
    """Fill what the write path would have filled."""
    from memories.language.cleaning import content_hash
    from memories.language.dates.named_days import keep_days
    from memories.language.dress import fold_hash
    from memories.language.word_forms import forms_of
    from memories.store.pieces import Passage, available_encoder, claim_index, embed_passages, piece_rows
    from memories.store.threads import filter_tokens

    for memory in memories:
        memory.content_hash, memory.fold_hash = content_hash(memory.content), fold_hash(memory.content)
        memory.filter = filter_tokens(memory)
        memory.forms, memory.days = forms_of(memory.content), keep_days(memory.content, memory.moment)
        memory.save()
        embedded = embed_passages([Passage(memory.content)], encoder=available_encoder())[0]
        claim_index(embedded.model, embedded.vectors.shape[1])
        for piece in piece_rows(memory, embedded):
            piece.save()
