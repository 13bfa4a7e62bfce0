"""A copy under another key holds every row, its words, vectors and triggers; one that does not is refused."""

from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from storage.encryption import DatabaseKey
from storage.encryption.pages import PlainPages, is_plain
from storage.progress import Progress
from storage.sqlite import reencrypt
from storage.sqlite.reencrypt import (
    CopyDiffers,
    connect,
    copy_with_key,
    finish_wiping,
    opens_with,
    wiping,
)

KEY, OTHER = DatabaseKey(b"k" * 32, "a test"), DatabaseKey(b"o" * 32, "another test")
SENTENCE = "Quokkazebu rides to Xanthippolis."


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A database with words, vectors, a trigger, and gaps in its rows."""
    path = tmp_path / "plain.db"
    with closing(connect(path, None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(
            "CREATE TABLE memory (key INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT, embedding BLOB);"
            "CREATE TABLE named (name TEXT PRIMARY KEY, value);"
            "CREATE VIRTUAL TABLE words USING fts5(content);"
            "CREATE VIRTUAL TABLE vectors USING vec0(room INTEGER PARTITION KEY, embedding float[4], chunk_size=16);"
            "CREATE TRIGGER copying AFTER INSERT ON memory BEGIN"
            " INSERT INTO words (rowid, content) VALUES (new.key, new.content); END;"
            "PRAGMA user_version = 7;"
        )
        for at in range(60):
            database.execute(
                "INSERT INTO memory (content, embedding) VALUES (?, ?)", (f"{SENTENCE} {at}", bytes(at))
            )
            database.execute("INSERT INTO named VALUES (?, ?)", (str(at), at))
            vector = f"[{at}, 1, 2, 3]"
            database.execute(
                "INSERT INTO vectors (rowid, room, embedding) VALUES (?, ?, ?)", (at + 1, at % 3, vector)
            )
        database.execute("DELETE FROM vectors WHERE rowid < 40")
        database.execute("DELETE FROM named WHERE value % 3 = 0")
        database.commit()
    return path


def answers(path: Path, key: DatabaseKey | None) -> list[Any]:
    """What the database says to some questions."""
    with closing(connect(path, key)) as database:
        asked = (
            "SELECT * FROM memory ORDER BY key",
            "SELECT rowid FROM words WHERE words MATCH 'quokkazebu' ORDER BY rowid",
            "SELECT rowid, distance FROM vectors WHERE embedding MATCH '[50, 1, 2, 3]' AND k = 3 AND room = 1",
            "SELECT name FROM sqlite_master WHERE type = 'trigger'",
            "PRAGMA user_version",
            "PRAGMA integrity_check",
        )
        return [database.execute(sql).fetchall() for sql in asked]


def test_it_goes_there_on_to_another_key_and_back(plain: Path, tmp_path: Path) -> None:
    before, first, second, back = (
        answers(plain, None),
        *(tmp_path / name for name in ("1.db", "2.db", "3.db")),
    )
    assert before[-1] == [("ok",)]
    rows = copy_with_key(plain, first, old=None, new=KEY)
    assert rows > 60 + 40 + 60
    assert copy_with_key(first, second, old=KEY, new=OTHER) == rows
    assert copy_with_key(second, back, old=OTHER, new=None) == rows
    assert answers(first, KEY) == answers(second, OTHER) == answers(back, None) == before
    assert [is_plain(path) for path in (plain, first, second, back)] == [True, False, False, True]
    assert SENTENCE.encode() not in first.read_bytes() + second.read_bytes()
    assert [opens_with(first, key) for key in (KEY, OTHER, None)] == [True, False, False]
    assert first.stat().st_mode & 0o777 == 0o600


def test_a_row_that_differs_refuses_the_copy(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = reencrypt.compare

    def spoiled(database: Any, progress: Progress) -> int:
        database.execute("UPDATE copy.memory SET content = 'other' WHERE key = 7")
        return compare(database, progress)

    monkeypatch.setattr(reencrypt, "compare", spoiled)
    with pytest.raises(CopyDiffers, match="a row of memory differs"):
        copy_with_key(plain, tmp_path / "copy.db", old=None, new=KEY)


def test_its_pages_and_those_of_its_log_can_be_searched_with_the_key(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(connect(path, KEY)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE memory (content TEXT)")
        database.execute("INSERT INTO memory VALUES (?)", (SENTENCE,))
        database.commit()
        database.execute("PRAGMA wal_checkpoint")
        database.execute("INSERT INTO memory VALUES (?)", ("The log has Vlkodlak.",))
        database.commit()
        raw = path.read_bytes(), path.with_name("memory.db-wal").read_bytes()
    for data, text in zip(raw, (SENTENCE, "The log has Vlkodlak."), strict=True):
        assert text.encode() not in data
        pages = PlainPages(BytesIO(data), KEY)
        assert text.encode() in b"".join(iter(lambda pages=pages: pages.read(8192), b""))
    # SQLite's own words at the start show that the first page is decrypted from the right byte.
    assert b"CREATE TABLE memory" in PlainPages(BytesIO(raw[0]), KEY).read()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "notes"
    path.write_text(SENTENCE)
    return path


def test_what_is_replaced_is_overwritten(file: Path, tmp_path: Path) -> None:
    with file.open("rb") as old:
        with wiping(file):
            (tmp_path / "new").write_text("new")
            (tmp_path / "new").replace(file)
        assert old.read() == bytes(len(SENTENCE))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes"]


def test_what_is_not_replaced_or_has_another_name_stays(file: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"), wiping(file):
        raise OSError("full")
    assert file.read_text() == SENTENCE
    (tmp_path / "snapshot").hardlink_to(file)
    finish_wiping(file)
    assert (tmp_path / "snapshot").read_text() == SENTENCE
    assert not file.exists()
