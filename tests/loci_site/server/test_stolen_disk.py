"""Whoever takes the folder of an encrypted store, running, killed or backed up, reads no sentence in it: `make proof encryption`."""

import json
import random
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pytest

from bench.proof.client import Client
from bench.proof.home import VARIABLES_FILE, Home, make_home
from bench.proof.proof import wait_until
from bench.proof.server import Server, bad_lines, running
from storage.encryption import DatabaseKey, key_from_file
from storage.encryption.pages import PlainPages
from storage.encryption.sealing import is_sealed, unseal
from tests.sizes import IS_WHOLE, pick, report

GROUP: Final = "harbour"
PATIENT: Final = {"LOCI_HOOKS_PROMPT_MS": "60000"}  # a late prompt is not noted for the checkpoint
SYLLABLES: Final = (
    *("bra", "cil", "dox", "fen", "gru", "hib", "jal", "kum"),
    *("lov", "nid", "pez", "qua", "rus", "tiv", "wyx"),
)
MOST_SHOWN: Final = 10
UPLOADS, EXPORT = "/admin/sources/upload/add/", "export.jsonl"


@dataclass(frozen=True)
class Sentence:
    """A text that nobody else writes: its two names are words of no language."""

    text: str
    names: tuple[str, str]

    @property
    def needles(self) -> list[bytes]:
        """What files would show of it: the whole, or a name alone, as an index of words has it."""
        words = [self.text.lower(), *self.names]
        return [word.encode(coding) for word in words for coding in ("utf-8", "utf-16-le")]


@dataclass(frozen=True)
class Ways:
    """The sentences by the way that they come in."""

    before: list[Sentence]
    stored: list[Sentence]
    asked: list[Sentence]
    hook: list[Sentence]
    file: list[Sentence]
    upload: list[Sentence]

    @property
    def all(self) -> list[Sentence]:
        """All of them."""
        return [*self.before, *self.stored, *self.asked, *self.hook, *self.file, *self.upload]


@pytest.mark.model
@pytest.mark.server
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("prepared_home")
@pytest.mark.sqlite(reason="PostgreSQL's operator encrypts its disk")
@pytest.mark.plain(reason="it encrypts a plain store")
def test_no_file_of_an_encrypted_store_shows_a_sentence_in_use_or_after_a_kill(tmp_path: Path) -> None:
    """Fill an encrypted store by every way in; look at every byte of its folder in use and after kill -9.

    1. encrypt a store that has plain memories
    2. with a real server: store, ask, call hooks, send a file and an upload; back up and export
    3. search every file, and every file within the backups, before and after the kill
    4. decrypt the same files with the key: each sentence must be found there, or the search means nothing
    """
    amount = pick(200, 10)
    source = sentences(random.Random(1719))
    ways = Ways(*([next(source) for _ in range(count)] for count in (1, amount, amount // 2, 4, 5, 5)))
    home, key_file = make_home(tmp_path / "home"), tmp_path / "db.key"
    home.manage("remember", ways.before[0].text, "--group", GROUP)
    variables = {"LOCI_STORAGE_ENCRYPTION": "sqlcipher", "LOCI_DB_KEY_FILE": str(key_file)}
    (home.path / VARIABLES_FILE).write_text(json.dumps(variables), encoding="utf-8")
    home.manage("store", "encrypt", "--make-key")
    log = home.path / "server.log"  # within the folder, so that it is searched too
    with running(home, log, supervised=IS_WHOLE, variables=PATIENT) as server:
        fill(server, home, ways)
        home.manage("backup")
        home.manage("export", str(home.path / EXPORT), "--encrypt")
        in_use = Search.of(home.path, ways, key_file)
        server.kill()
    killed = Search.of(home.path, ways, key_file)
    report(
        {
            "sentences": len(ways.all),
            "files searched in use": in_use.files,
            "files searched after kill -9": killed.files,
            "MB searched after kill -9": round(killed.size / 1e6, 1),
            "of these the write-ahead log": round((home.path / "memory.db-wal").stat().st_size / 1e6, 1),
            "files within backups": killed.in_backups,
            "files that show a sentence, a name or the key": len(in_use.shown) + len(killed.shown),
        }
    )
    assert in_use.shown == []
    assert killed.shown == []
    assert missing(home.path, ways, key_from_file(key_file)) == []
    assert bad_lines(log) == []
    assert IS_WHOLE or killed.in_backups == 4  # database, ids, manifest and the key of masks


def sentences(chance: random.Random) -> Iterator[Sentence]:
    """Sentences without end, each about names of its own."""
    while True:
        first, second = ("".join(chance.sample(SYLLABLES, 4)) for _ in range(2))
        verb = chance.choice(("keeps the seal of", "sails on Friday to", "pays the rent for", "signs with"))
        yield Sentence(f"{first.capitalize()} {verb} {second.capitalize()}.", (first, second))


def fill(server: Server, home: Home, ways: Ways) -> None:
    """Send the sentences to a running server, each group of them by its own way."""
    access = home.witness("browser")
    with Client(server.port, home.secret) as client:
        for each in ways.stored:
            client.store(each.text, GROUP).must()
        for each in ways.asked:
            client.recall(each.text, GROUP).must()
        amount = len(ways.asked)
        wait_until(
            lambda: len(client.get(f"/api/recalls?limit={amount}").must()["items"]) >= amount,
            f"The recall log did not get {amount} questions.",
        )
        text = "\n\n".join(each.text for each in ways.file)
        client.post("/api/artifacts", {"path": "notes.md", "content": text, "group": GROUP}).must()
    with Client(server.port, access["hook"]) as client:
        call: dict[str, Any] = {"session_id": "s-1", "cwd": f"/home/prover/{GROUP}"}
        first, second, third, last = (each.text for each in ways.hook)
        client.post("/hooks/claude-code/session-start", call | {"source": "startup"}).must()
        for prompt in (first, second, f"Remember: {third}"):
            client.post("/hooks/claude-code/prompt", call | {"prompt": prompt}).must()
        client.post("/hooks/claude-code/stop", call | {"last_assistant_message": last}).must()
        client.post("/hooks/claude-code/session-end", call).must()
    with Client(server.port) as browser:
        browser.log_in("prover", access["password"])
        browser.open(UPLOADS)
        lines = "\n".join(json.dumps({"content": each.text}) for each in ways.upload)
        fields = {"group": GROUP, "scope": "group"}
        browser.form(UPLOADS, fields, file=("notes.jsonl", lines)).must(302)


@dataclass(frozen=True)
class Search:
    """What a search through a folder found: files that show a text, and how much was searched."""

    shown: list[str]
    files: int
    in_backups: int
    size: int

    @classmethod
    def of(cls, folder: Path, ways: Ways, key_file: Path) -> "Search":
        """Search the bytes of every file, in any case, for the sentences and the key."""
        needles = [needle for each in ways.all for needle in each.needles]
        needles += [key_file.read_bytes().strip().lower(), key_from_file(key_file).raw]
        found, names, size = list[str](), list[str](), 0
        for name, raw in files_of(folder):
            names.append(name)
            size += len(raw)
            content = raw.lower()
            shown = [needle for needle in needles if needle in raw or needle in content]
            found += [f"{name} shows {shown[0]!r} and {len(shown) - 1} more"] if shown else []
        return cls(found[:MOST_SHOWN], len(names), sum("!" in name for name in names), size)


def files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file's name and bytes, those within archives too; not the model, which is a link."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        name, raw = str(path.relative_to(folder)), path.read_bytes()
        yield name, raw
        if zipfile.is_zipfile(BytesIO(raw)):
            with zipfile.ZipFile(BytesIO(raw)) as archive:
                yield from ((f"{name}!{part}", archive.read(part)) for part in archive.namelist())


def missing(folder: Path, ways: Ways, key: DatabaseKey) -> list[str]:
    """A fault for each sentence that the decrypted files do not show where it belongs."""
    plain = {name: decrypted(raw, key).lower() for name, raw in files_of(folder)}
    store = plain["memory.db"] + plain["memory.db-wal"]
    backup = b"".join(raw for name, raw in plain.items() if name.endswith("!memory.db"))
    waiting = b"".join(raw for name, raw in plain.items() if name.startswith("uploads"))
    kept = [*ways.before, *ways.stored]
    places = [
        ("the database and its log", store, [*kept, *ways.asked, *ways.hook, *ways.file]),
        ("the backup", backup, kept),
        ("the export", plain[EXPORT], kept),
        ("the upload", waiting, ways.upload),
    ]
    return [
        f"the decrypted form of {name} lacks {each.text!r}"
        for name, raw, expected in places
        for each in expected
        if each.text.lower().encode() not in raw
    ][:MOST_SHOWN]


def decrypted(raw: bytes, key: DatabaseKey) -> bytes:
    """A file's bytes under the key: sealed files are unsealed, anything else is read as a database's pages."""
    if is_sealed(raw):
        return unseal(raw, key)
    pages = PlainPages(BytesIO(raw), key)
    return b"".join(iter(lambda: pages.read(len(raw)), b""))


def test_the_search_finds_a_name_in_any_file_and_within_archives(tmp_path: Path) -> None:
    key_file = tmp_path / "db.key"
    key_file.write_text("5E" * 32)
    folder = tmp_path / "home"
    folder.mkdir()
    sentence = Sentence("Brafen keeps the seal of Qualov.", ("brafen", "qualov"))
    ways = Ways([sentence], [], [], [], [], [])
    (folder / "clean").write_text("Nothing of it.")
    assert Search.of(folder, ways, key_file).shown == []
    (folder / "index").write_bytes(b"\x00qualov\x00")
    (folder / "wide").write_bytes("BRAFEN".encode("utf-16-le"))
    (folder / "settings").write_text(f"key = {'5e' * 32}")
    with zipfile.ZipFile(folder / "backup.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("memory.db", sentence.text * 9)
    found = Search.of(folder, ways, key_file)
    assert [line.split(" shows ")[0] for line in found.shown] == [
        "backup.zip!memory.db",
        "index",
        "settings",
        "wide",
    ]
    assert (found.files, found.in_backups) == (6, 1)
