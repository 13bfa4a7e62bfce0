"""Texts of PDF and Word files, with the libraries of the extra `documents`."""

import io
import re
from typing import Final
from zipfile import ZipFile

from guard.html import text_of_html
from sources.artifacts.chunking.blocks import FileText
from storage.version import install_extra

_MAX_PAGES: Final = 2000
MAX_UNPACKED_BYTES: Final = 256 * 1024**2  # of a Word file, which is a zip
NEEDED: Final = f"needs the extra: {install_extra('documents')}"
_MARKED: Final = re.compile(r"<(?:h([1-6])|li)>")


class Unreadable(Exception):
    """The file is left out; the message says why, for the report."""


def read_pdf(data: bytes) -> FileText:
    """The lines of a PDF, and for the first line of each page its name ("page 3").

    Raises:
        Unreadable: it is broken, has a password or no text, or the library is missing.
    """
    try:
        from pypdf import PdfReader  # noqa: PLC0415 - optional
    except ImportError:
        raise Unreadable(f"a PDF {NEEDED}") from None
    lines, pages = list[str](), dict[int, str]()
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("a PDF with a password")
        for number, page in enumerate(reader.pages, start=1):
            if number > _MAX_PAGES:
                break
            pages[len(lines) + 1] = f"page {number}"
            lines += [*page.extract_text().split("\n"), ""]
    except Unreadable:
        raise
    except Exception:  # the library raises whatever a broken file leads to
        raise Unreadable("a PDF that cannot be read") from None
    if not any(line.strip() for line in lines):
        raise Unreadable("a PDF without text (pictures of pages)")
    return FileText(lines, pages)


def read_docx(data: bytes) -> FileText:
    """The paragraphs of a Word file, one a line, headings marked as in Markdown. Raises as read_pdf() does."""
    try:
        import mammoth  # type: ignore[import-untyped]  # noqa: PLC0415 - optional
    except ImportError:
        raise Unreadable(f"a Word file {NEEDED}") from None
    try:
        with ZipFile(io.BytesIO(data)) as packed:
            if sum(info.file_size for info in packed.infolist()) > MAX_UNPACKED_BYTES:
                raise Unreadable("a Word file that unpacks to too much")
        html = mammoth.convert_to_html(
            io.BytesIO(data), convert_image=mammoth.images.img_element(lambda _: {})
        ).value
    except Unreadable:
        raise
    except Exception:  # the library raises whatever a broken file leads to
        raise Unreadable("a Word file that cannot be read") from None
    # No code is in it: a grave accent is one that the writer typed.
    text = text_of_html(_MARKED.sub(_with_mark, html.replace("`", "&#96;")))
    return FileText(text.split("\n"))


def _with_mark(tag: re.Match[str]) -> str:
    """The start tag of a heading or of an item of a list, followed by Markdown's mark."""
    return f"{tag[0]}{'#' * int(tag[1]) if tag[1] else '-'} "
