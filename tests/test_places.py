"""Every column and file that may hold a text is a place that a purge asks, or is listed here with the reason why not."""

from fnmatch import fnmatch
from pathlib import Path

import pytest
from django.conf import settings

from memories.store.places import all_places, outside_copies
from sources.personal.own_rows import NAMING
from storage import home
from tests.memories.tables import text_columns

OTHER_APPS = {
    "admin": "Loci's own pages write no rows there",
    "auth": "people: names, addresses, passwords",
    "contenttypes": "names of models",
    "sessions": "sealed data of logins",
    "oauth2_provider": "names and keys of clients",
}
# Columns of these names, in whatever table: the reason, and the names. What a caller may fill is never listed so.
ANYWHERE = {
    "names of people and tokens, which an erasure replaces": set(NAMING),
    "names of programs": {"client", "via", "holder"},
    "hashes, and marks made of them": {
        "content_hash", "fold_hash", "text_hash", "body_hash", "labels_hash", "memory_hash", "start_hash", "token_hash",
        "code_hash", "key_hash", "hash", "digest", "fingerprint", "hmac", "dress", "spelling", "salt", "key_id", "sha",
        "marker", "head",
    },
    "the first letters of a token": {"hint"},
}  # fmt: skip
# Filled by Loci with words of its own, numbers, ids and names: the reason, and the columns.
NO_TEXT = {
    "access_attempts": ("address of a caller", {"kind", "address"}),
    "memory_log": ("chains and verbs", {"origin", "chain", "operation"}),
    "memory_log_head": ("chains", {"origin", "chain"}),
    "access_group": ("a group's name, of a few letters without spaces", {"slug"}),
    "access_identity": ("ids at another service", {"issuer", "subject"}),
    "access_preference": ("settings of a page", {"time_zone", "language"}),
    "access_apitoken": ("names, scopes and origins of tokens", {"name", "scopes", "origin"}),
    "memories_thread": ("the name of a site", {"platform"}),
    "memories_checkpoint": ("the id of what holds it", {"held"}),
    "memories_memory": (
        "states and filter tokens; `forms` has other forms of the row's own words, `days` the days that it names",
        {"filter", "forms", "days"},
    ),
    "memories_memoryfinding": ("kinds of findings", {"kind", "treatment", "former_treatment"}),
    "index_state": ("marks of the index", {"name", "value"}),
    "index_change": ("keys of pieces", {"op"}),
    "memories_piece": ("vectors, which go with the memory", {"embedding", "model"}),
    "memories_proposal": ("verbs and states", {"verb", "version"}),
    "memories_recalllog": ("keys and scores", {"mode", "hits"}),
    "memories_unprobed": ("a trust", {"trust"}),
    "sources_artifact": ("kinds of findings", {"findings"}),
    "sources_chunk": (
        "kinds of findings; `forms` and the vector go with the row",
        {"forms", "findings", "model", "embedding"},
    ),
    "sources_capturedturn": ("ids of a site", {"platform", "conversation", "turn"}),
    "sources_upload": (
        "choices of the import",
        {"source", "group", "type", "scope", "format", "recognised", "waiting"},
    ),
    "sources_watchedfolder": (
        "paths of people's folders, and why one is not read",
        {"name", "path", "note", "mode"},
    ),
    "sources_watchedfile": (
        "paths of people's files and what the file system says of them",
        {"path", "signature"},
    ),
    "sources_watchedsection": ("a trust", {"disputed_from"}),
    "maintenance_joblock": ("names of jobs", {"name"}),
    "maintenance_run": ("names of steps, numbers and positions", {"kind", "steps", "counts", "cursor"}),
    "memories_doubt": ("how it was settled", {"how"}),
    "row_change": ("kinds of changes and tables", {"op", "kept"}),
    "hooks_hooksession": ("ids of sessions", {"session"}),
    "hooks_hookinjection": ("names of events", {"event"}),
    "hooks_repositoryhead": ("commits and branches", {"origin", "branch", "known"}),
    "notifications_subscription": ("events and ids", {"events", "seen"}),
    "notifications_webhook": ("addresses, events and ids", {"name", "url", "events", "seen"}),
    "notifications_delivery": (
        "ids of memories; their texts are read when it is sent",
        {"event", "notice", "error"},
    ),
    "notifications_watch": ("names of events", {"name"}),
}
NO_TEXT_FILES = {
    "models": "the encoder",
    "keys": "keys",
    "watching": "that something is watched",
    "config.toml": "settings",
    "*.lock": "locks",
    "*-shm": "SQLite's index of its log, without text",
    "cache": "vectors of public test sets",
    "*.pid": "numbers of processes",
    "test.db*": "the database of these tests",
}


def columns() -> set[tuple[str, str]]:
    return {
        (model._meta.db_table, column)
        for model, column in text_columns()
        if model._meta.app_label not in OTHER_APPS
    }


def listed() -> set[tuple[str, str]]:
    """The columns that hold no text, for a reason that is given above."""
    own = {(table, name) for table, (_, names) in NO_TEXT.items() for name in names}
    return own | {
        (table, name) for table, name in columns() if any(name in names for names in ANYWHERE.values())
    }


def asked() -> set[tuple[str, str]]:
    return {
        (place.model._meta.db_table, column) for place in all_places().values() for column in place.columns
    }


def uncovered() -> list[str]:
    return sorted(f"{table}.{column}" for table, column in columns() - asked() - listed())


def test_every_column_is_a_place_or_holds_no_text() -> None:
    """Register a new column with memories.store.places, or say above why it holds no text."""
    assert uncovered() == []


def test_a_column_that_is_no_place_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(all_places(), "checkpoints")
    monkeypatch.setitem(NO_TEXT, "maintenance_run", ("", set()))
    assert uncovered() == [
        *(f"maintenance_run.{name}" for name in ("counts", "cursor", "kind", "steps")), "memories_checkpoint.state",
    ]  # fmt: skip


def test_the_lists_name_what_exists() -> None:
    assert listed() <= columns()
    assert set().union(*ANYWHERE.values()) <= {name for _, name in columns()}
    assert asked() & listed() == set()  # a place is not listed as one that holds no text
    for place in all_places().values():
        for column in place.columns:
            place.model._meta.get_field(column)


@pytest.mark.django_db
def test_every_file_of_the_home_is_a_place_or_holds_no_text() -> None:
    known = {
        name
        for name in vars(home).values()
        if isinstance(name, str) and name in (home.DATABASE, home.UPLOADS)
    }
    root = Path(settings.LOCI.home)
    there = {*known, *home.FOLDERS, *(path.name for path in root.iterdir())}
    covered = [*(name for copies in outside_copies().values() for name in copies.files), *NO_TEXT_FILES]
    assert [name for name in sorted(there) if not any(fnmatch(name, pattern) for pattern in covered)] == []
