"""Every format in the registry is recognised, run and rendered the same way."""

import json
from io import BytesIO, StringIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.core.management import CommandError, call_command

from access.errors import InvalidInput, LociError, NotFound
from access.models import Group
from access.tokens import operator
from memories.models import Memory
from sources.exporting import export
from sources.importing import ENDINGS, IMPORTERS, NAMES, choose_importer
from sources.importing.formats.exports import EXPORT
from sources.importing.formats.texts import TEXTS
from sources.importing.importer import Importer, LineRules
from sources.importing.lines import FIRST_BYTES
from tests.sources.importing.expected import TROUBLE
from tests.sources.importing.samples import SAMPLES, placed

pytestmark = pytest.mark.django_db

LINE = b'{"id": 1, "text": "The port is 8081.", "group": "ledger"}\n'


def sample(importer: Importer, folder: Path) -> Path:
    """A file of the importer's format; a new format adds its own."""
    path = folder / "sample.jsonl"
    match importer.name:
        case "lines":
            path.write_bytes(LINE)
        case "export":
            Group.objects.create(slug="ledger")
            with path.open("w") as out:
                export(operator(), out)
        case other:
            found = next((each for each in SAMPLES if each.format == other), None)
            return placed(found, folder) if found else pytest.fail(f"no sample of the format {other!r}")
    return path


def zipped() -> bytes:
    raw = BytesIO()
    with ZipFile(raw, "w") as archive:
        archive.writestr("conversations.json", "[]")
    return raw.getvalue()


def test_names_are_unique_and_endings_have_a_dot() -> None:
    assert len(set(NAMES)) == len(IMPORTERS)
    assert all(ending.startswith(".") for ending in ENDINGS)
    assert IMPORTERS[-1] is TEXTS, "texts take every text file, so no format after them is ever recognised"


@pytest.mark.parametrize("importer", IMPORTERS, ids=NAMES)
def test_each_format_is_recognised_and_its_report_rendered(importer: Importer, tmp_path: Path) -> None:
    path = sample(importer, tmp_path)
    assert choose_importer(path) is importer
    lines: list[int] = []
    rules = LineRules("notes", group="ledger")
    report = importer.run(operator(), path, rules, on_progress=lines.append, dry_run=True)
    expected, _ = TROUBLE.get(path.name, (0, {}))
    assert len(report.faults) == expected
    assert all(isinstance(words, str) and count > 0 for words, count in report.counts())
    assert "faults" in json.loads(json.dumps(type(report).json(report)))
    assert report.as_text().startswith(f"{getattr(report, 'lines', 'From')}")
    assert lines
    assert Memory.objects.count() == 0


@pytest.mark.parametrize(
    "importer", [EXPORT, TEXTS], ids=["export", "lines"]
)  # test_foreign_formats.py has the others
@pytest.mark.parametrize(
    "inserted", [b"\xff", b"\x00", b"\n\n{", None], ids=["no-utf8", "nul", "lines", "cut"]
)
def test_a_damaged_file_is_an_error_with_a_reason(
    importer: Importer, inserted: bytes | None, tmp_path: Path
) -> None:
    path = sample(importer, tmp_path)
    raw = path.read_bytes()
    middle = raw.index(b"ledger") + 1
    path.write_bytes(raw[:middle] + (b"" if inserted is None else inserted + raw[middle:]))
    try:
        faults = [fault.why for fault in importer.run(operator(), path, LineRules("notes")).faults]
    except LociError as error:
        faults = [str(error)]
    assert all(faults)
    assert faults


@pytest.mark.parametrize(
    "raw", [b"", b"\n \n", b'{"a": "' + b"x" * FIRST_BYTES, b"oops\n {}", b"\xef\xbb\xbf{", b"\xff\n{"]
)
def test_a_file_with_a_line_like_an_object_is_read_as_lines(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(raw)
    assert choose_importer(tmp_path / "notes.txt") is TEXTS


@pytest.mark.parametrize(
    "raw", [b"oops", b"\xff", b"[1]\n", b"root:x:0:0::/:/bin/sh\n" * 26, b"foo;bar\n1;2\n"]
)
@pytest.mark.parametrize("name", ["passwd", "table.csv"])
def test_any_other_text_file_is_refused_once(raw: bytes, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(InvalidInput, match="in no format that Loci can import"):
        choose_importer(tmp_path / name)


def test_an_export_is_recognised_after_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'\n\n{"kind": "header", "format": "loci-export"}\n')
    assert choose_importer(tmp_path / "a.jsonl") is EXPORT


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_folder_or_binary_file_of_no_known_format_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "takeout.zip"
    path.mkdir() if kind == "folder" else path.write_bytes(zipped())
    with pytest.raises(InvalidInput, match=f"The {kind} is in no format that Loci can import") as caught:
        choose_importer(path)
    assert caught.value.field == "file"
    assert all(importer.description in (caught.value.hint or "") for importer in IMPORTERS)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"none\.jsonl cannot be read: No such file"):
        choose_importer(tmp_path / "none.jsonl")


def test_a_named_format_is_used_without_recognition(tmp_path: Path) -> None:
    (tmp_path / "loci.jsonl").write_bytes(b'{"kind": "header", "format": "loci-export"}\n')
    assert choose_importer(tmp_path / "loci.jsonl", "lines") is TEXTS


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="'cvs' is not a format") as caught:
        choose_importer(tmp_path, "cvs")
    assert (caught.value.field, caught.value.hint) == ("format", f"Formats: {', '.join(NAMES)}.")
    with pytest.raises(CommandError, match="invalid choice: 'cvs'") as refused:
        call_command("import", "notes.jsonl", "--format", "cvs")
    assert all(name in str(refused.value) for name in NAMES)


def test_the_command_reads_a_file_as_the_named_format(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_bytes(LINE)
    out = StringIO()
    call_command("import", str(tmp_path / "notes.jsonl"), "--format", "lines", "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert (answer["format"], answer["created"]) == ("lines", 1)
    with pytest.raises(CommandError, match="not an export of Loci"):
        call_command("import", str(tmp_path / "notes.jsonl"), "--format", "export")


def test_names_that_lead_out_of_a_zip_are_left_out_and_counted(ledger: Group, tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    with ZipFile(path, "w") as packed:
        for name in ("in.md", "../../up.md", "/etc/root.md", "a/../../b.md", "..\\win.md"):
            packed.writestr(name, f"The note {name} lies here.\n")
    report = choose_importer(path).run(operator(), path, LineRules("notes", group="ledger"))
    assert [memory.source_ref for memory in Memory.objects.all()] == ["in.md"]
    assert report.skipped == {"links and names that lead out of the folder or zip": 4}
    assert "4 left out: links and names that lead out of the folder or zip" in report.as_text()


def test_links_that_lead_out_of_a_folder_are_left_out_and_counted(ledger: Group, tmp_path: Path) -> None:
    (secret := tmp_path / "secret.md").write_text("Words that lie elsewhere.\n")
    (folder := tmp_path / "notes").mkdir()
    (folder / "in.md").write_text("The note lies here.\n")
    for name, target in {"out.md": secret, "up.md": "../secret.md", "same.md": "in.md"}.items():
        (folder / name).symlink_to(target)
    report = choose_importer(folder).run(operator(), folder, LineRules("notes", group="ledger"))
    assert {memory.source_ref for memory in Memory.objects.all()} <= {"in.md", "same.md"}
    assert report.skipped == {"links and names that lead out of the folder or zip": 2}
