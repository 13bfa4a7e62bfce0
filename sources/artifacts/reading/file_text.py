"""What reading a file gave. Apart from the reader, whose libraries only an ingest needs."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class FileText:
    """The text of a file as lines. `headings` names places by line number (1 is the first): pages of a PDF."""

    lines: list[str]
    headings: dict[int, str] = field(default_factory=dict)
