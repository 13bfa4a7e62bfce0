"""A purge reaches files that were read as evidence, and files that are sent cannot break or surprise the server."""

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from access.errors import InvalidInput
from access.models import Group
from access.tokens import operator
from memories.draft import Draft
from memories.lifecycle.verbs import purge
from memories.store import store
from sources.artifacts.ingest import IngestReport, ingest_content
from sources.artifacts.reading.sent import read_sent
from sources.models import Chunk

pytestmark = [
    pytest.mark.django_db,
]
TEXT = "The vault behind the old brewery opens with the word marzipan."
LONG = "\n\n".join(
    f"In year {year} the brewery sold {year} barrels of its darkest marzipan stout." for year in range(60)
)


def send(text: str) -> IngestReport:
    return ingest_content(operator(), [("docs/a.md", text.encode())], group="ledger")


def purge_text(text: str) -> None:
    memory = store(operator(), Draft(text, group="ledger")).memory
    assert memory is not None
    purge(operator(), memory.id, reason="secret")


def chunks_with(word: str) -> list[str]:
    rows = Chunk.objects.values_list("heading", "content", "forms")
    return [text for row in rows if word in (text := " ".join(row))]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"# A\n\n{TEXT}\n", id="as it is"),
        pytest.param("# A\n\n- " + TEXT.replace(" opens", "\n  opens") + "\n", id="on two lines"),
        pytest.param(f"# {TEXT}\n\n## Below\n\n" + "Other words on pears.\n\n" * 200, id="heading of other chunks"),
    ],
)  # fmt: skip
def test_no_chunk_has_a_purged_text_and_reading_the_file_again_brings_none_back(
    text: str, ledger: Group
) -> None:
    send(text)
    assert chunks_with("marzipan")
    purge_text(TEXT)
    assert chunks_with("marzipan") == []
    send(text)
    assert chunks_with("marzipan") == []


def test_a_text_that_fills_several_chunks_is_purged_from_all(ledger: Group) -> None:
    send(f"# A\n\nAbout beer.\n\n{LONG}\n\nAnd about wine.\n")
    assert len(chunks_with("marzipan")) > 2
    purge_text(LONG)
    assert chunks_with("marzipan") == []


def packed() -> bytearray:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.md", "words " * 500)
    return bytearray(out.getvalue())


@pytest.mark.parametrize("fault", ["password", "unknown method", "broken"])
def test_a_zip_that_cannot_be_unpacked_is_refused_by_name(fault: str) -> None:
    raw = packed()
    local, central = raw.find(b"PK\x03\x04"), raw.find(b"PK\x01\x02")
    if fault == "password":
        raw[local + 6] |= 1
        raw[central + 8] |= 1
    elif fault == "unknown method":
        raw[local + 8] = raw[central + 10] = 97
    else:
        start = raw.find(b"a.md") + 4
        raw[start : start + 12] = bytes(each ^ 0xA5 for each in raw[start : start + 12])
    with pytest.raises(InvalidInput) as refused:
        read_sent(SimpleUploadedFile("a.zip", bytes(raw)), "a.zip")
    assert refused.value.field == "file"
