"""A model behind an address: calibrated like any other; if it fails, texts are stored, words find them, and vectors follow."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from pytest_django import Settings

from access.models import AuditEntry
from access.tokens import operator
from maintenance.doctor.environment import check_model, check_model_is_there
from maintenance.embeddings.backfill import embed_owed
from memories.draft import Draft
from memories.embedding import ModelUnavailable, endpoint, get_encoder, loader, long_texts, model_status
from memories.embedding.encoder import Window
from memories.embedding.loader import choose_model, model_folder
from memories.embedding.long_texts import LongText, LongTextQueue
from memories.embedding.manifest import BUILT_IN
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.edit import EditDraft, edit
from memories.models import Memory, Piece
from memories.recall import RecallRequest, recall
from memories.store import store
from memories.store.bulk import store_many
from sources.artifacts.ingest import ingest_content
from sources.artifacts.vectors import embed_chunks
from sources.exporting import export
from sources.importing.formats.exports import restore_export
from sources.models import Chunk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
KEY = "sk-heron-4711"


class Stub(ThreadingHTTPServer):
    """Answers with MiniLM's vectors, turned towards one direction as foreign models do, or in one of the ways to fail."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.modes: list[str] = []  # of the next answers; the last one stays
        self.seen: list[tuple[str, str, dict[str, Any]]] = []
        self.minilm = get_encoder(timeout_s=60)
        self.known: dict[str, Any] = {}
        self.takes_s, self.waiting, self.most_waiting = 0.0, 0, 0
        self.drops = 0
        self.one_by_one = threading.Lock()
        self.is_over = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def vectors(self, texts: list[str], *, seed: int = 1) -> list[list[float]]:
        aside = np.random.default_rng(seed).normal(size=384)
        new = [text for text in texts if text not in self.known]
        self.known.update(zip(new, self.minilm.encode(new) if new else [], strict=True))
        made = np.stack([self.known[text] for text in texts]) + 1.5 * aside / np.linalg.norm(aside)
        return [[float(number) for number in row] for row in made]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Stub

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stub = self.server
        stub.seen.append((self.path, self.headers.get("Authorization", ""), body))
        stub.waiting += 1
        stub.most_waiting = max(stub.most_waiting, stub.waiting)
        with stub.one_by_one if stub.takes_s else nullcontext():
            time.sleep(stub.takes_s)
        stub.waiting -= 1
        mode = stub.modes.pop(0) if len(stub.modes) > 1 else stub.modes[0]
        if mode == "hangs":
            stub.is_over.wait(30)
            return
        if mode == "drips headers":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            with suppress(OSError):  # until the other side has had enough
                while not stub.is_over.wait(0.1):
                    self.wfile.write(b"X-Drop: 1\r\n")
                    stub.drops += 1
            self.close_connection = True
            return
        if mode == "closes":
            self.close_connection = True
            return
        if mode == "long" and any(len(text) > 300 for text in body["input"]):
            mode = "400"
        if mode.startswith("refuses") and any("walrus" in text for text in body["input"]):
            mode = mode.split()[1]
        if mode.isdecimal():
            self.answer(int(mode), f'{{"error": "{self.headers.get("Authorization")} {body["input"]}"}}')
            return
        rows = stub.vectors(body["input"], seed=2 if mode == "other model" else 1)
        if mode == "width":
            rows = [row[:-1] for row in rows]
        elif mode == "count":
            rows = rows[1:]
        elif mode == "NaN":
            rows[0][0] = float("nan")
        elif mode == "zero":
            rows[0] = [0.0] * 384
        data = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
        self.answer(
            200, "<html>" if mode == "HTML" else json.dumps({"data": data[::-1]}), drip=mode == "drips"
        )

    def answer(self, status: int, text: str, *, drip: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:9/")
        self.end_headers()
        for letter in text[:200] if drip else ():
            self.wfile.write(letter.encode())
            time.sleep(0.1)
        self.wfile.write(text[200:].encode() if drip else text.encode())

    def log_message(self, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def running() -> Iterator[Stub]:
    stub = Stub()
    yield stub
    stub.is_over.set()
    stub.shutdown()
    stub.server_close()


@pytest.fixture
def stub(running: Stub, home: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """The endpoint in its best mood, in a home that asks it with a key and is not patient."""
    embedding = replace(settings.LOCI.embedding, endpoint_key=KEY)
    settings.LOCI = replace(settings.LOCI, embedding=embedding)
    monkeypatch.setattr(endpoint, "_FIRST_S", 4.0)
    monkeypatch.setattr(endpoint, "_BULK_S", 6.0)
    monkeypatch.setattr(long_texts, "STORE_S", 3.0)
    monkeypatch.setattr(loader, "_RETRY_S", 3600.0)
    running.modes, running.seen, running.takes_s, running.most_waiting = ["ok"], [], 0.0, 0
    return running


_added: dict[str, bytes] = {}


@pytest.fixture
def in_use(stub: Stub, ledger: object, home: Path) -> Stub:
    """The endpoint's model, in use; added once for all tests."""
    folder = model_folder(home, "heron").path
    if not _added:
        add(stub)
        _added.update({file.name: file.read_bytes() for file in folder.iterdir()})
    folder.mkdir(exist_ok=True)
    for name, content in _added.items():
        (folder / name).write_bytes(content)
    choose_model(model_folder(home, "heron"))
    get_encoder(timeout_s=60)
    return stub


def run(*words: str) -> str:
    out = StringIO()
    call_command("model", *words, stdout=out)
    return out.getvalue()


def add(stub: Stub, *more: str) -> str:
    return run("add", stub.url, "--as", "heron", "--model", "some/model", *more, "--yes")


def ask(query: str, mode: str = "hybrid") -> Any:
    return recall(operator(), RecallRequest(query, group="ledger", mode=mode))


def test_adding_one_says_where_texts_go_and_asks_first(stub: Stub, home: Path) -> None:
    with pytest.raises(
        CommandError, match=r"Every text .* would leave this machine, to 127\.0\.0\.1:\d+\. .*--yes"
    ):
        run("add", stub.url, "--as", "heron", "--model", "some/model")
    assert stub.seen == []

    said = add(stub)

    assert f"every text and every question leaves this machine, to 127.0.0.1:{stub.server_port}" in said
    assert f"from {stub.url}/embeddings" in said
    manifest = model_folder(home, "heron").read_manifest()
    assert (manifest.model.width, manifest.model.repository, manifest.precision) == (
        384,
        "some/model",
        "endpoint",
    )
    assert {path for path, _, _ in stub.seen} == {"/v1/embeddings"}
    assert {key for _, key, _ in stub.seen} == {f"Bearer {KEY}"}
    assert {body["model"] for _, _, body in stub.seen} == {"some/model"}
    assert max(len(body["input"]) for _, _, body in stub.seen) > 1
    assert not any("dimensions" in body for _, _, body in stub.seen)
    assert manifest.model.question_cosine(0.4) == pytest.approx(
        0.4, abs=0.1
    )  # without its direction it is MiniLM
    assert "installed: heron@" in run("list")
    assert stub.url in run("list")


def test_prompts_and_a_width_are_asked_for(stub: Stub, home: Path) -> None:
    add(stub, "--width", "384", "--query-prompt", "ask: ", "--text-prompt", "text: ")

    assert {body["dimensions"] for _, _, body in stub.seen} == {384}
    sent = [text for _, _, body in stub.seen[1:] for text in body["input"]]
    assert {text.split(": ")[0] for text in sent} == {"ask", "text"}


@pytest.mark.parametrize(
    "mode",
    [
        "hangs",
        "closes",
        "drips",
        "drips headers",
        "401",
        "302",
        "500",
        "width",
        "count",
        "NaN",
        "zero",
        "HTML",
    ],
)
def test_one_that_fails_is_not_added(stub: Stub, home: Path, mode: str) -> None:
    stub.modes = ["ok", mode]
    began = time.monotonic()

    with pytest.raises(CommandError, match=r"http://127\.0\.0\.1:\d+/v1/embeddings ") as caught:
        add(stub)

    assert KEY not in str(caught.value)
    assert time.monotonic() - began < 15
    assert not (home / "models" / "heron").exists()


def test_a_name_is_not_taken_from_another_model(in_use: Stub, home: Path) -> None:
    manifest = model_folder(home, "heron").read_manifest()

    with pytest.raises(CommandError, match=r"Another model is installed as heron, from http.*--force"):
        add(in_use, "--text-prompt", "text: ")
    assert model_folder(home, "heron").read_manifest() == manifest

    assert "embed anew" not in add(in_use)
    assert f"It was {manifest.model_id}: embed anew" in add(in_use, "--text-prompt", "text: ", "--force")


def test_one_that_cannot_tell_answers_from_others_is_not_added(
    stub: Stub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def random_vectors(texts: list[str], **options: object) -> list[list[float]]:
        return [[*np.random.default_rng(len(text)).normal(size=384)] for text in texts]

    monkeypatch.setattr(stub, "vectors", random_vectors)
    with pytest.raises(CommandError, match="heron does not tell a question's answer from other texts"):
        add(stub)


@pytest.mark.parametrize(
    ("address", "name", "served", "message"),
    [
        ("http://ann:secret@127.0.0.1/v1", "heron", "m", "needs an address"),
        ("http://127.0.0.1/v1?key=secret", "heron", "m", "needs an address"),
        ("ftp://127.0.0.1/v1", "heron", "m", "needs an address"),
        ("http://127.0.0.1/v1", "heron", "", "needs an address"),
        ("http://127.0.0.1/v1", "", "m", "needs an address"),
        ("http://127.0.0.1/v1", "../up", "m", "needs an address"),
        ("http://127.0.0.1/v1", "all-MiniLM-L6-v2", "m", "needs an address"),
        ("http://[::1/v1", "heron", "m", "cannot be reached"),
        ("http://127.0.0.1:99999/v1", "heron", "m", "cannot be reached"),
        ("http://127.0.0.1:9/v1", "heron", "m", "cannot be reached"),
    ],
)
def test_an_address_or_a_name_that_will_not_do(
    home: Path, address: str, name: str, served: str, message: str
) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        run("add", address, "--as", name, "--model", served, "--yes")
    assert "secret" not in str(caught.value)


def test_it_finds_by_meaning(in_use: Stub) -> None:
    stored = store(operator(), Draft("Invoices are paid within thirty days.", group="ledger"))
    store(operator(), Draft("The heron nests by the harbour.", group="ledger"))

    found = ask("When do suppliers get their money?", "vector")

    assert (stored.is_embedding_owed, found.degraded) == (False, "")
    assert found.items[0].memory.id == stored.memory.id
    assert "is valid: hashes match" in run("verify")
    assert "hashes and vectors are correct" in check_model().detail


@pytest.mark.parametrize(
    "mode", ["hangs", "closes", "drips", "drips headers", "401", "500", "width", "count", "NaN", "HTML"]
)
def test_while_it_fails_texts_are_stored_and_found_by_words_and_get_their_vectors_later(
    in_use: Stub, mode: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    first = store(operator(), Draft("Invoices are paid within thirty days.", group="ledger")).memory
    in_use.modes = [mode]

    began = time.monotonic()
    stored = store(operator(), Draft("The heron nests by the harbour.", group="ledger"))
    assert time.monotonic() - began < 6
    assert stored.is_embedding_owed
    asked = len(in_use.seen)
    began = time.monotonic()
    edited = edit(operator(), first.id, EditDraft(content="Invoices are paid within sixty days."))
    drafts = [Draft(f"The berth {number} is free.", group="ledger") for number in range(20)]
    assert store_many(operator(), drafts).created == 20
    found = ask("heron harbour")
    assert time.monotonic() - began < 4
    assert [item.memory.content for item in found.items] == ["The heron nests by the harbour."]
    assert (found.mode, found.degraded[:12]) == ("keyword", "keyword only")
    assert len(in_use.seen) == asked  # it is left alone for a while
    assert model_status().state == "failed"
    assert "/v1/embeddings " in model_status().detail
    assert edited.memory.content.endswith("sixty days.")

    in_use.modes = ["ok"]
    monkeypatch.setattr(loader, "_RETRY_S", 0.0)
    with pytest.raises(ModelUnavailable):
        get_encoder()  # tried again in the background
    while model_status().state != "ready":
        time.sleep(0.05)
    assert embed_owed(operator()).still_owed == 0
    assert not Piece.objects.filter(embedding=None).exists()
    assert ask("Where do birds breed?", "vector").items[0].memory.content == "The heron nests by the harbour."

    assert KEY not in caplog.text
    assert not any(KEY in json.dumps(row.payload) for row in AuditEntry.objects.all())


def test_an_endpoint_that_drips_its_headers_holds_a_question_three_seconds_and_is_hung_up_on(
    in_use: Stub,
) -> None:
    store(operator(), Draft("The heron nests by the harbour.", group="ledger"))
    in_use.modes = ["drips headers"]
    began = time.monotonic()
    found = ask("heron harbour")
    assert time.monotonic() - began < 4
    assert found.degraded.startswith("keyword only")
    assert len(found.items) == 1
    time.sleep(1)
    dropped = in_use.drops
    time.sleep(1)
    assert in_use.drops == dropped
    assert "loci-endpoint" not in [thread.name for thread in threading.enumerate()]


def test_the_first_recall_that_meets_a_failure_goes_by_words(in_use: Stub) -> None:
    store(operator(), Draft("The heron nests by the harbour.", group="ledger"))
    in_use.modes = ["hangs"]
    began = time.monotonic()

    def one(number: int) -> str:
        try:
            found = ask(f"heron harbour {number}")
            return f"{found.degraded[:12]} {len(found.items)}"
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as threads:
        assert {*threads.map(one, range(6))} == {"keyword only 1"}
    assert time.monotonic() - began < 9


def test_one_failure_is_tried_again_at_once(in_use: Stub) -> None:
    for mode in ("503", "429", "closes"):
        in_use.modes = [mode, "ok"]
        assert not store(operator(), Draft(f"The heron sees {mode}.", group="ledger")).is_embedding_owed


def test_a_text_that_is_too_long_there_is_read_from_its_beginning(in_use: Stub) -> None:
    in_use.modes = ["long"]
    drafts = [Draft(f"{'harbour ' * 100} {number}", group="ledger") for number in range(3)]
    store_many(operator(), [*drafts, Draft("The heron nests here.", group="ledger")])

    assert not Piece.objects.filter(embedding=None).exists()
    assert model_status().state == "ready"


@pytest.mark.parametrize("status", ["400", "451", "500"])
def test_a_text_that_it_refuses_is_left_out_and_keeps_no_other_waiting(in_use: Stub, status: str) -> None:
    in_use.modes = [f"refuses {status}"]
    refused = store(operator(), Draft("A walrus.", group="ledger"))
    drafts = [Draft(f"The berth {number} is free.", group="ledger") for number in range(3)]
    store_many(operator(), [*drafts, Draft("A walrus again.", group="ledger")])
    assert refused.is_embedding_owed

    assert embed_owed(operator()).memories == 3

    owed = Piece.objects.filter(embedding=None).values_list("memory__content", flat=True)
    assert {*owed} == {"A walrus.", "A walrus again."}
    assert model_status().state == "ready"
    asked = ask("Is the walrus berth free?")
    assert (asked.mode, len(asked.items) > 0) == ("keyword", True)
    assert ask("Which berth is free?").mode == "hybrid"


def test_a_part_of_a_file_that_it_refuses_is_left_out(in_use: Stub) -> None:
    in_use.modes = ["refuses 500"]
    files = [(f"{name}.md", f"# {name}\n\nThe {name} is here.\n".encode()) for name in ("walrus", "heron")]
    ingest_content(operator(), files, group="ledger", source="team")
    embed_chunks()
    owed = Chunk.objects.filter(embedding=None)
    assert ["walrus" in chunk.content for chunk in owed] == [True]


def test_an_export_comes_in_whole_while_it_fails(in_use: Stub, tmp_path: Path) -> None:
    store(operator(), Draft("The heron nests by the harbour.", group="ledger"))
    with (tmp_path / "out.jsonl").open("w", encoding="utf-8") as out:
        export(operator(), out)
    Piece.objects.all().delete()
    Memory.objects.all().delete()
    in_use.modes = ["401"]

    report = restore_export(operator(), tmp_path / "out.jsonl")

    assert (report.faults, report.added["memory"]) == ((), 1)
    assert Piece.objects.get().embedding is None


def test_a_question_by_words_stays_on_this_machine(in_use: Stub) -> None:
    store(operator(), Draft("The heron nests by the harbour.", group="ledger"))
    in_use.seen.clear()

    found = ask("Where does the heron nest?", "keyword")

    assert (len(found.items), in_use.seen) == (1, [])


def test_bulk_work_waits_long_for_one_batch_after_another(in_use: Stub) -> None:
    in_use.takes_s = 3.5
    assert get_encoder().encode([f"berth {number}" for number in range(17)]).shape == (17, 384)
    assert in_use.most_waiting == 1
    assert model_status().state == "ready"


def test_a_recall_waits_for_its_vectors_once(in_use: Stub) -> None:
    store(operator(), Draft("The heron nests by the harbour.", group="ledger"))
    store_relation(operator(), RelationDraft("Billing", "runs_on", "Heron", group="ledger"))
    in_use.takes_s = 2.2
    began = time.monotonic()

    found = ask("What does Billing run on?")

    assert 2.2 < time.monotonic() - began < 4
    assert (found.mode, len(found.relations)) == ("hybrid", 1)
    assert model_status().state == "ready"


def test_a_text_is_cut_to_the_window_and_a_word_without_end_too(in_use: Stub) -> None:
    encoder = get_encoder()
    in_use.seen.clear()
    encoder.encode(["heron " * 5000, "x" * 100_000, "a\ud800b", ""])
    sent = [text for _, _, body in in_use.seen for text in body["input"]]
    assert sorted(map(len, sent)) == [0, 3, 256 * 6, 256 * 16]


def test_long_texts_of_a_server_are_owed_too(in_use: Stub) -> None:
    in_use.modes = ["500"]
    text = LongText(("heron", "m"), get_encoder(), [Window(0, 5, 1)], ["heron"])
    made = asyncio.run(LongTextQueue().embed(text))
    assert (made.vectors, made.owed_because) == (None, "")


def test_another_model_at_the_same_address_is_noticed(in_use: Stub, home: Path) -> None:
    in_use.modes = ["other model"]
    with pytest.raises(CommandError, match="differ from the reference"):
        run("verify")
    loader.unload()
    with pytest.raises(
        ModelUnavailable, match=r"differ from the reference.*loci model add http://.*/v1 --as heron"
    ):
        get_encoder(timeout_s=60)
    assert "loci model add http://" in check_model().advice
    assert "loci model add http://" in check_model_is_there().advice


def test_the_doctor_tells_how_to_mend_the_model_in_use(in_use: Stub, home: Path) -> None:
    in_use.modes = ["401"]
    assert check_model().advice.startswith("Check that it runs and takes LOCI_EMBEDDING_ENDPOINT_KEY.")
    choose_model(model_folder(home, "heron+3fa2c1"))
    told = "Run `loci model calibrate heron`, then `loci model use` with the name that it prints."
    assert [check_model().advice, check_model_is_there().advice] == [told, told]
    choose_model(model_folder(home, BUILT_IN["mpnet"].name))
    assert check_model_is_there().advice == "Run `loci model add mpnet`."


def test_a_key_that_no_header_can_hold_is_not_told(in_use: Stub, settings: Settings) -> None:
    embedding = replace(settings.LOCI.embedding, endpoint_key="sk-\nheron-\x00é")
    settings.LOCI = replace(settings.LOCI, embedding=embedding)
    loader.unload()
    with pytest.raises(ModelUnavailable, match=r"cannot be reached \(\w+\)") as caught:
        get_encoder(timeout_s=60)
    assert "heron-" not in str(caught.value)
    assert caught.value.__context__ is None
