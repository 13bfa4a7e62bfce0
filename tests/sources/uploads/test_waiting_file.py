"""A file that waits to be confirmed has no secret of a published format."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.models import Memory
from sources.uploads import SentUpload, begin_import, receive_upload
from sources.uploads.files import file_of
from sources.uploads.masking import mask_file
from storage.encryption import database_key
from storage.encryption.sealing import unseal
from tests.guard.samples import secret_samples
from tests.people import person
from tests.sources.uploads.test_uploads import RULES, no_files_stay

__all__ = ["no_files_stay"]
pytestmark = [pytest.mark.django_db, pytest.mark.model]
SECRETS = secret_samples()


def send(alice: User, raw: bytes, name: str) -> bytes:
    upload = receive_upload(person(alice), SentUpload(name, len(raw), [raw]), RULES)
    assert upload.state == "checked"
    kept = unseal(file_of(upload).read_bytes(), database_key())
    begin_import(person(alice), upload.id)
    return kept


def test_lines_that_wait_have_no_secret_and_are_imported(alice: User, ledger: Group) -> None:
    lines = [
        {"id": str(n), "text": f"The {kind} is {value}"} for n, (kind, value) in enumerate(SECRETS.items())
    ]
    raw = "".join(json.dumps(line) + "\n" for line in lines).encode()
    kept = send(alice, raw, "notes.jsonl").decode()
    assert [value for value in SECRETS.values() if json.dumps(value)[1:-1] in kept] == []
    assert Memory.objects.filter(group=ledger).count() == len(SECRETS)


def test_a_key_over_several_lines_is_masked(alice: User, ledger: Group) -> None:
    key = SECRETS["private-key"]
    kept = send(
        alice, f"# Build\n\nThe key of the build:\n\n{key}\n\nThe end.\n".encode(), "notes.md"
    ).decode()
    assert "[private-key:" in kept
    assert key.splitlines()[1] not in kept
    assert kept.startswith("# Build")
    assert kept.endswith("The end.\n")


def test_other_bytes_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for raw in (b"caf\xe9 and nothing else\r\n", b"PK\0\x01", b'{"a": 1}\n[broken\n'):
        path.write_bytes(raw)
        mask_file(path)
        assert path.read_bytes() == raw
