"""Schemas of relations in responses."""

from loci_site.api.schemas.document import Document, StoredText


class RelationLineOut(Document):
    """A relation that the question asks for, as a line: X —owned_by→ Y. `evidence` are ids of memories that prove it."""

    id: str
    line: str
    group: str
    confidence: float
    date: str
    author: str
    evidence: list[str]


class EndOut(StoredText):
    """One end of a relation; `label` as in a memory."""

    id: str
    content: str
    label: str


class EdgeOut(Document):
    """A relation; `line` is X —predicate→ Y, `evidence` are ids of memories that prove it, `depth` is its distance in steps."""

    id: str
    subject: EndOut
    predicate: str
    object: EndOut
    line: str
    confidence: float
    evidence: list[str]
    date: str
    valid_from: str | None
    valid_to: str | None
    depth: int


class WalkOut(Document):
    """Relations, nearest first."""

    items: list[EdgeOut]
