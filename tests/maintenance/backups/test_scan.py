"""After a purge, every file of LOCI_HOME is searched for whole sentences of the text, and those that hold one are named."""

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest
from django.conf import settings

from access.tokens import operator
from maintenance.backups import scan
from memories.lifecycle.purge import Certificate
from memories.lifecycle.verbs import purge
from memories.models import Memory
from memories.store import purge_hooks
from tests.maintenance.folders import empty_folder

Remember = Callable[..., Memory]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
FIRST = "Quokkazebu rides to Xanthippolis with the Vlkodlak manuscript."
SECOND = "The door code of the „Łódź“ archive is 7719-4410."
BACKUPS = "backups"


@pytest.fixture(autouse=True)
def files() -> Iterator[Path]:
    """LOCI_HOME with empty folders."""
    home = Path(settings.LOCI.home)
    for folder in (BACKUPS, *scan.FOLDERS):
        empty_folder(home / folder)
    yield home
    for folder in (BACKUPS, *scan.FOLDERS):
        empty_folder(home / folder)


def purged(memory: Memory) -> Certificate:
    done = purge(operator(), memory.id)
    assert done.certificate is not None
    return done.certificate


def test_a_clean_store_is_certified(remember: Remember) -> None:
    certificate = purged(remember(f"{FIRST} {SECOND}"))
    assert (certificate.scan, certificate.remains) == ("done", ())
    assert certificate.checked[-1].endswith("scanned for its sentences")


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("logs/web.log", f"12:00 said: {SECOND}\n"),
        ("logs/archive/old.log", "x" * (purge_hooks.CHUNK_BYTES - 20) + FIRST),
        (
            "queue/out/message.json",
            '{"text": "The door code of the \\u201e\\u0141\\u00f3d\\u017a\\u201c archive is 7719-4410."}',
        ),
    ],
)
def test_a_file_that_holds_a_sentence_is_named(
    remember: Remember, files: Path, place: str, content: str
) -> None:
    path = files / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    certificate = purged(remember(f"{FIRST} {SECOND}"))
    assert certificate.remains == (f"{place} contains a sentence of it",)
    assert path.read_text(encoding="utf-8") == content


def test_a_short_text_and_a_large_store_are_not_certified(
    remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = purged(remember("Code 7719."))
    monkeypatch.setattr(scan, "SCAN_BYTES", 1)
    large = purged(remember(FIRST))
    assert (short.scan, large.scan) == ("left out", "left out")
    assert short.remains == ("database, logs, queue and backups were not scanned: the text is too short",)
    assert large.remains[-1].startswith("database, logs, queue and backups were not scanned: they have ")


def test_a_sentence_across_two_chunks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge_hooks, "CHUNK_BYTES", 16)
    needles = scan.needles_of([FIRST])
    for start in range(40):
        stream = BytesIO(b"." * start + FIRST.encode() + b"." * 40)
        assert purge_hooks.contains_any(stream, needles)
    assert not purge_hooks.contains_any(BytesIO(FIRST[:-1].encode() * 3), needles)
