"""Texts of PDF and Word files, with the libraries of the extra `documents`."""

import io
from html.parser import HTMLParser
from typing import Any, Final
from zipfile import BadZipFile, ZipFile

from storage.version import install_extra

MAX_PAGES: Final = 2000
MAX_UNPACKED_BYTES: Final = 256 * 1024**2  # of a Word file, which is a zip
NEEDED: Final = f"needs the extra: {install_extra('documents')}"
BLOCKS: Final = frozenset({"p", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6"})


class DocumentUnreadable(Exception):
    """The document cannot be read; the message says why."""


def read_pdf(data: bytes) -> tuple[list[str], dict[int, str]]:
    """The lines of a PDF, and for the first line of each page its name ("page 3")."""
    try:
        from pypdf import PdfReader  # noqa: PLC0415 - optional
    except ImportError:
        raise DocumentUnreadable(f"a PDF {NEEDED}") from None
    lines, pages = list[str](), dict[int, str]()
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentUnreadable("a PDF with a password")
        for number, page in enumerate(reader.pages, start=1):
            if number > MAX_PAGES:
                break
            pages[len(lines) + 1] = f"page {number}"
            lines += [*page.extract_text().split("\n"), ""]
    except DocumentUnreadable:
        raise
    except Exception:  # the library raises whatever a broken file leads to
        raise DocumentUnreadable("a PDF that cannot be read") from None
    if not any(line.strip() for line in lines):
        raise DocumentUnreadable("a PDF without text (pictures of pages)")
    return lines, pages


def read_docx(data: bytes) -> list[str]:
    """The paragraphs of a Word file, one a line, headings marked as in Markdown."""
    try:
        import mammoth  # type: ignore[import-untyped]  # noqa: PLC0415 - optional
    except ImportError:
        raise DocumentUnreadable(f"a Word file {NEEDED}") from None
    try:
        with ZipFile(io.BytesIO(data)) as packed:
            if sum(info.file_size for info in packed.infolist()) > MAX_UNPACKED_BYTES:
                raise DocumentUnreadable("a Word file that unpacks to too much")
        html = mammoth.convert_to_html(
            io.BytesIO(data), convert_image=mammoth.images.img_element(lambda _: {})
        ).value
    except DocumentUnreadable:
        raise
    except (BadZipFile, Exception):  # the library raises whatever a broken file leads to
        raise DocumentUnreadable("a Word file that cannot be read") from None
    parser = ParagraphParser()
    parser.feed(html)
    return parser.lines


class ParagraphParser(HTMLParser):
    """Collects the paragraphs of simple HTML as lines, with an empty line after each."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._words: list[str] = []
        self._mark = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Begin a paragraph."""
        if tag in BLOCKS:
            self._end()
            self._mark = "#" * int(tag[1]) + " " if tag[0] == "h" else "- " if tag == "li" else ""

    def handle_endtag(self, tag: str) -> None:
        """End a paragraph; cells of a table are apart."""
        if tag in BLOCKS:
            self._end()
        elif tag in ("td", "th"):
            self._words.append(" | ")

    def handle_data(self, data: str) -> None:
        """Add text to the paragraph."""
        self._words.append(data)

    def _end(self) -> None:
        text = " ".join("".join(self._words).split()).strip(" |")
        if text:
            self.lines += [f"{self._mark}{text}", ""]
        self._words, self._mark = [], ""
