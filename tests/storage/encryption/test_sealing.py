"""Sealed files hold their content and nothing of it is readable; no chunk can be changed, left out or cut off."""

from io import BytesIO
from pathlib import Path

import pytest

from storage.encryption import DatabaseKey
from storage.encryption.sealing import (
    CHUNK_BYTES,
    HEADER_BYTES,
    TAG_BYTES,
    SealedWriter,
    UnsealError,
    key_that_unseals,
    readable,
    replace_sealing,
    seal,
    sealed_size,
    unseal,
)

KEY, OTHER = DatabaseKey(b"k" * 32, "a test"), DatabaseKey(b"o" * 32, "another test")
TEXT = b"The door code of the archive is 7719-4410.\n"
SIZES = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES]


@pytest.mark.parametrize("size", SIZES)
def test_any_size_comes_back(size: int) -> None:
    content = (TEXT * (size // len(TEXT) + 1))[:size]
    sealed = seal(content, KEY)
    assert len(sealed) == sealed_size(size)
    assert TEXT not in sealed
    assert unseal(sealed, KEY) == content


def test_the_same_content_is_sealed_differently_each_time() -> None:
    assert seal(TEXT, KEY)[HEADER_BYTES:] != seal(TEXT, KEY)[HEADER_BYTES:]


def test_without_a_key_content_stays_and_plain_content_is_read_with_any() -> None:
    assert seal(TEXT, None) == TEXT
    assert unseal(TEXT, None) == unseal(TEXT, KEY) == TEXT


@pytest.mark.parametrize(
    ("key", "words"),
    [(OTHER, "encrypted with another key than that of another test"), (None, "set storage.encryption")],
)
def test_another_key_is_told(key: DatabaseKey | None, words: str) -> None:
    with pytest.raises(UnsealError, match=words):
        unseal(seal(TEXT, KEY), key)


def test_what_was_changed_cut_off_or_exchanged_is_damaged() -> None:
    sealed = seal(TEXT * 4000, KEY)
    step = CHUNK_BYTES + TAG_BYTES
    chunks = [sealed[at : at + step] for at in range(HEADER_BYTES, len(sealed), step)]
    assert len(chunks) == 3
    head = sealed[:HEADER_BYTES]
    for forged in (
        head + b"".join(chunks[:-1]),
        head + chunks[1] + chunks[0] + chunks[2],
        head + chunks[0] + chunks[2],
        sealed[:-1],
        sealed[:200] + bytes([sealed[200] ^ 1]) + sealed[201:],
        head,
    ):
        with pytest.raises(UnsealError, match="damaged"):
            unseal(forged, KEY)


def test_a_writer_seals_what_it_gets() -> None:
    out = BytesIO()
    with SealedWriter(out, KEY) as writer:
        for _ in range(5000):
            writer.write(TEXT)
    assert unseal(out.getvalue(), KEY) == TEXT * 5000


def test_a_sealed_file_is_read_from_a_copy_that_goes(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_bytes(seal(TEXT, KEY))
    with readable(file, KEY) as path:
        assert (path.name, path.read_bytes()) == (file.name, TEXT)
        assert not path.is_relative_to(tmp_path)
    assert not path.exists()
    file.write_bytes(TEXT)
    with readable(file, KEY) as path:
        assert path == file


def test_a_file_changes_from_one_key_to_another_once(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_bytes(TEXT)
    assert replace_sealing(file, None, KEY)
    assert not replace_sealing(file, None, KEY)
    assert replace_sealing(file, KEY, OTHER)
    assert key_that_unseals(file.read_bytes(), KEY, OTHER) == OTHER
    with pytest.raises(UnsealError, match="another key"):
        replace_sealing(file, KEY, None)
    assert replace_sealing(file, OTHER, None)
    assert file.read_bytes() == TEXT
