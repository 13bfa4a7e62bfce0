"""The columns of a memory that follow from its text alone; they can be made long before its row."""

from dataclasses import dataclass

from memories.index.forms import forms_of
from memories.text import content_hash, fold_hash


@dataclass(frozen=True, slots=True)
class TextColumns:
    """What is stored beside a text, to find it again."""

    content_hash: str
    fold_hash: str
    forms: str


def text_columns(content: str, *, hash_: str = "") -> TextColumns:
    """Give the columns of a cleaned text; `hash_` where its content hash is known."""
    return TextColumns(hash_ or content_hash(content), fold_hash(content), forms_of(content))
