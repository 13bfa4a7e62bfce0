"""The columns of a memory that follow from its text alone; they can be made long before its row."""

from dataclasses import dataclass

from memories.draft import Draft
from memories.language.word_forms import forms_of


@dataclass(frozen=True, slots=True)
class TextColumns:
    """What is stored beside a text, to find it again."""

    content_hash: str
    fold_hash: str
    forms: str


def text_columns(draft: Draft) -> TextColumns:
    """Give the columns of a checked draft's text."""
    return TextColumns(draft.hash, draft.fold_hash, forms_of(draft.content))
