"""What the database itself says, read by a process of its own in a home (`Home.witness`)."""

import secrets
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import User
from django.db import connection

from access.audit.operations import Operation
from access.audit.verify import verify_log
from access.models import AuditEntry
from access.tokens import create_token, operator
from loci_site.management.first_start import migrate_if_needed
from maintenance.embeddings.backfill import embed_owed
from memories.language.cleaning import content_hash
from memories.models import Memory, Piece
from memories.search.base import search_index
from memories.store.threads import context_of, filter_tokens, thread_neighbours
from storage.compiled_queries import fetch
from storage.dialect import dialect

SHOWN = 5  # faults of one kind that are told in full
# What writes the first row of the log about a memory.
BIRTHS = (Operation.STORE, Operation.IMPORT, Operation.MERGE)


def prepare() -> dict[str, str]:
    """Make the tables, a user, and a token that may read, write and create groups."""
    migrate_if_needed()
    user, _ = User.objects.get_or_create(username="prover", defaults={"is_superuser": True})
    scopes = ("read", "write", "create-group")
    return {"secret": create_token(operator(), user=user, name="proof", scopes=scopes).secret}


def token(name: str) -> dict[str, str]:
    """Make a token of another user, who may write everywhere."""
    user, _ = User.objects.get_or_create(username=name, defaults={"is_superuser": True})
    return {"secret": create_token(operator(), user=user, name=name, scopes=("read", "write")).secret}


def browser() -> dict[str, str]:
    """Set a password for the prover and make a token for a client's hooks; returns both."""
    user = User.objects.get(username="prover")
    password = secrets.token_urlsafe(16)
    user.set_password(password)
    user.save()
    made = create_token(operator(), user=user, name="hooks", scopes=("hook",))
    return {"password": password, "hook": made.secret}


def settle() -> dict[str, int]:
    """Make the vectors that are owed."""
    return {"still_owed": embed_owed(operator(), limit=1_000_000).still_owed}


def check(sent: list[str], acknowledged: dict[str, str]) -> dict[str, Any]:
    """Compare the database with what writers sent and what was acknowledged (text → id): counts, and every fault."""
    faults = [
        *_lost(acknowledged),
        *_unsent(sent, acknowledged),
        *store_faults(),
        *_unequal_counts(),
        *half_written(),
        *_unlogged(),
    ]
    return {
        "memories": Memory.objects.count(),
        "pieces": Piece.objects.count(),
        "owed": Piece.objects.filter(embedding=None).count(),
        "log_rows": AuditEntry.objects.count(),
        "faults": faults,
    }


def digest() -> dict[str, tuple[int, str]]:
    """How many memories, vectors and rows of the log there are, and a hash of each: a moved store has the same."""
    kinds = {
        "memories": Memory.objects.values_list("id", "content", "state", "trust"),
        "vectors": Piece.objects.values_list("memory__id", "ordinal", "embedding"),
        "log": AuditEntry.objects.values_list("chain", "seq", "hash"),
    }
    found = {}
    for kind, rows in kinds.items():
        lines = sorted("|".join(map(_plain, row)) for row in rows)
        found[kind] = (len(lines), sha256("\n".join(lines).encode()).hexdigest())
    return found


def _plain(value: object) -> str:
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value)


def _lost(acknowledged: dict[str, str]) -> list[str]:
    there = {str(id_): text for id_, text in Memory.objects.values_list("id", "content")}
    found = [
        f"acknowledged, not there: {id_} {text}" for text, id_ in acknowledged.items() if id_ not in there
    ]
    found += [
        f"acknowledged as {text!r}, there as {there[id_]!r}"
        for text, id_ in acknowledged.items()
        if there.get(id_, text) != text
    ]
    return _shortened(found, "acknowledged memories are lost or changed")


def _unsent(sent: list[str], acknowledged: dict[str, str]) -> list[str]:
    """Nothing is there that nobody sent, and nothing twice."""
    known = {*sent, *acknowledged}
    times = Counter(Memory.objects.values_list("content", flat=True))
    strange = [f"nobody sent: {text}" for text in times if text not in known]
    twice = [f"there {n} times: {text}" for text, n in times.items() if n > 1]
    return _shortened(strange, "memories that nobody sent") + _shortened(twice, "memories are there twice")


def store_faults() -> list[str]:
    """Say what the search index, the log's chain and SQLite itself find wrong."""
    faults = [f"search index: {fault}" for fault in search_index().find_errors()]
    broken = [report for report in verify_log() if not report.is_whole]
    faults += [f"log: chain {each.chain} is broken at row {each.broken_at}: {each.why}" for each in broken]
    faults += [f"index: {fault}" for fault in dialect().index_faults()]
    # PostgreSQL checks references whenever a row is written; SQLite can be asked again.
    return [*faults, *(sqlite_faults() if connection.vendor == "sqlite" else ())]


def sqlite_faults() -> list[str]:
    """What SQLite's own checks of the file say."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA integrity_check")
        faults = [f"integrity check: {line}" for (line,) in cursor.fetchall() if line != "ok"]
        cursor.execute("PRAGMA foreign_key_check")
        return faults + [f"foreign key: {row}" for row in cursor.fetchall()]


COUNTS = {
    "sqlite": {
        "other": "SELECT COUNT(*) FROM memories_piece AS p JOIN memories_vec AS v ON v.piece = p.key"
        " WHERE v.embedding IS NOT vec_quantize_int8(p.embedding, 'unit')",
        "words": "SELECT COUNT(*) FROM memories_fts_docsize",
        "vectors": "SELECT COUNT(*) FROM memories_vec",
        "changes": "SELECT COUNT(DISTINCT piece) FROM index_change WHERE op = '+'",
    },
    "postgresql": {
        "other": "SELECT COUNT(*) FROM memories_piece AS p JOIN piece_search AS v ON v.piece = p.key"
        " WHERE v.h <> p.embedding::halfvec",
        "words": "SELECT COUNT(*) FROM search_row",
        "vectors": "SELECT COUNT(*) FROM piece_search",
    },
}


def _unequal_counts() -> list[str]:
    counts = {name: fetch(sql, [])[0][0] for name, sql in COUNTS[connection.vendor].items()}
    embedded = Piece.objects.exclude(embedding=None).count()
    pairs = {
        "memories and rows of the keyword index": (Memory.objects.count(), counts["words"]),
        "vectors of pieces and rows of the vector index": (embedded, counts["vectors"]),
        # PostgreSQL's list stays empty: nobody follows it.
        "vectors of pieces and pieces in the list of changes": (embedded, counts.get("changes", embedded)),
    }
    other = counts["other"]
    return [
        *([f"{other} vector rows hold another vector than their piece"] if other else []),
        *(f"{what}: {a} and {b}" for what, (a, b) in pairs.items() if a != b),
    ]


def half_written() -> list[str]:
    """Say of each memory what it lacks of what the write path gives it."""
    found = []
    rows = Memory.objects.select_related("group", "thread").prefetch_related("pieces").order_by("key")
    for memory in rows.iterator(chunk_size=500):
        found += [f"{memory.id}: {what}" for what in _lacks(memory)]
    return _shortened(found, "memories are half written")


def _lacks(memory: Memory) -> list[str]:
    pieces = sorted(memory.pieces.all(), key=lambda piece: piece.ordinal)
    spans = [piece.ordinal for piece in pieces] == list(range(len(pieces)))
    whole = bool(pieces) and pieces[0].start == 0 and pieces[-1].end == len(memory.content)
    tests: dict[str, Callable[[], bool]] = {
        "its pieces do not cover it": lambda: spans and whole,
        "a piece has a vector without a model, or a model without a vector": lambda: all(
            (piece.embedding is None) == (piece.model == "") for piece in pieces
        ),
        "a vector is not 384 numbers": lambda: all(len(p.embedding or bytes(1536)) == 1536 for p in pieces),
        "its hash is another text's": lambda: memory.content_hash == content_hash(memory.content),
        "its filter tokens are wrong": lambda: memory.filter == filter_tokens(memory),
        # What no longer counts keeps the context that it had when it did.
        "its context is not its neighbours'": lambda: (
            memory.state != "live" or memory.context == context_of(memory, thread_neighbours(memory))
        ),
        "it has a thread and no place in it": lambda: (memory.thread_id is None) == (memory.position is None),
    }
    return [what for what, holds in tests.items() if not holds()]


def _unlogged() -> list[str]:
    births = AuditEntry.objects.filter(operation__in=BIRTHS).exclude(memory_id=None)
    logged = Counter(births.filter(payload_row__isnull=False).values_list("memory_id", flat=True))
    there = set(Memory.objects.values_list("id", flat=True))
    found = [
        f"{id_} has {logged[id_]} rows in the log that say it was stored" for id_ in there if logged[id_] != 1
    ]
    found += [f"the log says {id_} was stored, and it is not there" for id_ in logged if id_ not in there]
    return _shortened(found, "memories and log do not agree")


def _shortened(found: list[str], what: str) -> list[str]:
    if len(found) <= SHOWN:
        return found
    return [*found[:SHOWN], f"… {len(found)} in all: {what}"]
