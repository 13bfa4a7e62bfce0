"""A store is encrypted, used, given another key and decrypted: its texts stay the same, and no file shows a sentence.

The library of a process cannot change, so each stage is a process of its own that does all of its stage.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from access.errors import Unavailable
from maintenance.backups.encrypting import Keys
from maintenance.management.verbs import encrypt as encrypt_verb
from tests.fresh_homes import with_tables
from tests.settings import REPOSITORY

pytestmark = [
    pytest.mark.sqlite(reason="PostgreSQL's operator encrypts its disk"),
    pytest.mark.plain(reason="it encrypts a plain store"),
]
SENTENCE = "Quokkazebu rides to Xanthippolis with the Vlkodlak manuscript."
UPLOADED = "Grynhildur keeps the seal of the Ferrante archive."
START = """\
import json, os, sys
import django
django.setup()
from io import StringIO
from pathlib import Path
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection

home, work = Path(os.environ["LOCI_HOME"]), Path(sys.argv[1])

def run(*words, **options):
    out = StringIO()
    try:
        call_command(*words, stdout=out, stderr=out, **options)
    except (CommandError, DatabaseError) as error:
        return f"{out.getvalue()}{type(error).__name__}: {error}"
    return out.getvalue()

def write_upload():
    from sources.models import Upload
    from sources.uploads.files import write_file
    upload = Upload(name="notes.jsonl")
    write_file(upload, [json.dumps({"content": UPLOADED}).encode()])
    return upload

SENTENCE, UPLOADED = %r, %r
""" % (SENTENCE, UPLOADED)  # noqa: UP031 - the program has braces of its own


def start(home: Path, work: Path, program: str, **env: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR", "LANG")}
    variables = {**kept, "LOCI_HOME": str(home), "DJANGO_SETTINGS_MODULE": "loci_site.settings", **env}
    return subprocess.Popen(
        [sys.executable, "-c", START + program, str(work)],
        cwd=REPOSITORY,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def stage(home: Path, work: Path, program: str, **env: str) -> dict[str, Any]:
    """What a stage printed as its last line, as JSON."""
    process = start(home, work, program, **env)
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def encryption(key: Path) -> dict[str, str]:
    return {"LOCI_STORAGE_ENCRYPTION": "sqlcipher", "LOCI_DB_KEY_FILE": str(key)}


def files_with(home: Path, *texts: str) -> list[str]:
    """The files under a folder whose bytes contain one of the texts, in any case."""
    needles = [text.lower().encode() for text in texts]
    return sorted(
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and any(needle in path.read_bytes().lower() for needle in needles)
    )


def memories_of(export: Path) -> list[str]:
    lines = [json.loads(line) for line in export.read_text(encoding="utf-8").splitlines()]
    return [
        json.dumps(line, sort_keys=True) for line in lines if line["kind"] in ("memory", "group", "piece")
    ]


PLAIN = """
run("group", "create", "ledger")
run("remember", SENTENCE, "--group", "ledger")
run("remember", "The port of the ledger is 8081.", "--group", "ledger")
run("backup")
run("export", str(work / "plain.jsonl"))
upload = write_upload()
print(json.dumps({"upload": str(upload.id)}))
"""
ENCRYPTED = """
first = run("stats")
no_key = run("store", "encrypt", "--dry-run")
print("made", made := run("store", "encrypt", "--make-key"))
dry = run("store", "encrypt", "--dry-run")
run("remember", "The queue is called ledger-events.", "--group", "ledger")
run("backup")
from sources.uploads.files import contains_text
names = [path for path in (home / "uploads").iterdir()]
read = contains_text(names[0], [UPLOADED.encode()])
sealed = run("export", str(work / "sealed.jsonl"), "--encrypt")
back = run("import", str(work / "sealed.jsonl"), "--dry-run")
run("export", str(work / "kept.jsonl"))
from maintenance.dry_run import run_on_copy
copied = run_on_copy(lambda: files_of(home))
print(json.dumps({"first": first, "no_key": no_key, "made": made, "dry": dry, "read": read, "sealed": sealed,
    "back": back, "copied": copied}), flush=True)
sys.stdin.readline()
"""
FILES_OF = """
def files_of(home):
    from memories.models import Memory
    assert Memory.objects.count() == 3
    return [str(path) for path in home.rglob("*.db*") if SENTENCE[:10].lower().encode() in path.read_bytes().lower()]
"""
ROTATED = """
from access.tokens import operator
from memories.lifecycle.verbs import purge
from memories.models import Memory
before = run("stats")
done = run("store", "encrypt", "--old-key", str(work / "old.key"))
backup = run("backup", "--list")
name = sorted(path.name for path in (home / "backups").glob("loci-*.zip"))[0]
restored = run("restore", name, "--yes")
found = run("recall", "Who rides to Xanthippolis?", "--group", "ledger")
port = Memory.objects.get(content__startswith="The port")
done_purge = purge(operator(), port.id).certificate
purged = {"scan": done_purge.scan, "remains": done_purge.remains, "checked": done_purge.checked}
run("export", str(work / "rotated.jsonl"))
decrypted = run("store", "decrypt")
print(json.dumps({"before": before, "done": done, "backup": backup, "restored": restored, "found": found,
    "purged": purged, "decrypted": decrypted, "after": run("stats")}))
"""
AGAIN_PLAIN = """
run("export", str(work / "again.jsonl"))
print(json.dumps({"list": run("backup", "--list")}))
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside the home."""
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def home(work: Path) -> Path:
    """A plain store with two memories, a backup, and an upload that waits."""
    home = work / "home"
    with_tables(home)
    (home / "models").unlink(missing_ok=True)  # keywords are enough
    stage(home, work, PLAIN)
    assert files_with(home, SENTENCE) == ["memory.db"]  # the backup is compressed
    assert len(files_with(home, UPLOADED)) == 1
    return home


@pytest.fixture(scope="module")
def encrypted(home: Path, work: Path) -> dict[str, Any]:
    """The same store, encrypted, in use by a process that is killed; what that said, and which files showed a sentence."""
    process = start(home, work, FILES_OF + ENCRYPTED, **encryption(work / "db.key"))
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    said: dict[str, Any] = json.loads(next(line for line in lines if line.startswith("{")))
    texts = (SENTENCE[:20], UPLOADED[:20], "ledger-events", "tombstone", "memories_memory")
    said["running"] = files_with(home, *texts)
    said["log_bytes"] = (home / "memory.db-wal").stat().st_size
    process.send_signal(signal.SIGKILL)
    process.communicate()
    said["killed"] = files_with(home, *texts)
    said["names"] = sorted(path.name for path in home.rglob("*") if path.is_file())
    return said


def test_a_plain_store_and_a_missing_key_are_one_sentence_each(encrypted: dict[str, Any]) -> None:
    assert "cannot be read: No such file or directory" in encrypted["first"]
    assert "storage.key_file" in encrypted["no_key"]
    assert "'loci store encrypt --make-key' makes one" in encrypted["no_key"]


def test_the_command_says_what_it_did_and_what_a_lost_key_means(encrypted: dict[str, Any]) -> None:
    for words in (
        "the key cannot be made again: keep a copy of it in another place",
        "every one is the same in the copy",
        "overwritten with zeros and deleted",
        "Changed 1 backup and 1 uploaded file.",
    ):
        assert words in encrypted["made"]
    assert "already as wanted" in encrypted["dry"]


def test_no_file_shows_a_sentence_in_use_or_after_a_kill(encrypted: dict[str, Any], work: Path) -> None:
    assert encrypted["log_bytes"] > 0
    assert (encrypted["running"], encrypted["killed"], encrypted["copied"]) == ([], [], [])
    key = (work / "db.key").read_text().strip()
    assert files_with(work / "home", key) == []
    assert not any(name.endswith((".replaced", ".reencrypted")) for name in encrypted["names"])


def test_an_encrypted_export_and_upload_are_read_with_the_key(encrypted: dict[str, Any], work: Path) -> None:
    assert encrypted["read"] is True
    assert "3 memories" in encrypted["sealed"]
    assert b"Quokkazebu" not in (work / "sealed.jsonl").read_bytes()
    assert "Nothing was written." in encrypted["back"]
    assert "Error" not in encrypted["back"]


@pytest.fixture(scope="module")
def rotated(home: Path, work: Path, encrypted: dict[str, Any]) -> dict[str, Any]:
    """What the store said under another key, until it was decrypted."""
    (work / "db.key").rename(work / "old.key")
    (work / "db.key").write_text("1f" * 32)
    return stage(home, work, ROTATED, **encryption(work / "db.key"))


def test_a_wrong_key_is_one_sentence_that_names_the_setting(rotated: dict[str, Any], work: Path) -> None:
    assert f"The key in storage.key_file ({work}/db.key) does not open the database" in rotated["before"]
    assert "it is another key, or the file is damaged" in rotated["before"]


def test_another_key_reads_the_store_and_its_older_backups(rotated: dict[str, Any]) -> None:
    assert "Changed 2 backups and 1 uploaded file." in rotated["done"]
    assert rotated["backup"].count(".zip") == 2
    assert "Restored loci-" in rotated["restored"]
    assert SENTENCE in rotated["found"]


def test_a_purge_reaches_encrypted_backups_and_scans_decrypted_pages(rotated: dict[str, Any]) -> None:
    certificate = rotated["purged"]
    assert certificate["scan"] == "done"
    assert certificate["remains"] == []
    assert "3 managed backups: 3 held it and were rewritten" in certificate["checked"]


def test_the_settings_must_follow_a_decryption(rotated: dict[str, Any]) -> None:
    assert "until then nothing opens the store" in rotated["decrypted"]
    assert (
        "is not encrypted, but storage.encryption is sqlcipher: run 'loci store encrypt'" in rotated["after"]
    )


def test_the_way_there_and_back_leaves_every_memory_as_it_was(
    home: Path, work: Path, rotated: dict[str, Any]
) -> None:
    said = stage(home, work, AGAIN_PLAIN)
    assert said["list"].count(".zip") == 3
    assert "is encrypted" not in said["list"]
    assert memories_of(work / "again.jsonl") == memories_of(work / "rotated.jsonl")
    first, kept = (memories_of(work / name) for name in ("plain.jsonl", "kept.jsonl"))
    assert set(first) <= set(kept)
    assert UPLOADED.encode() in b"".join(path.read_bytes() for path in (home / "uploads").iterdir())


def test_a_key_that_was_made_is_named_when_encrypting_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(encrypt_verb, "change_encryption", fail)
    with pytest.raises(Unavailable):
        encrypt_verb.change(
            Keys(old=None, new=None),
            {"dry_run": False, "json": False},
            step="encrypt",
            before="Made a key in F.",
        )
    assert "Made a key in F." in capsys.readouterr().err
