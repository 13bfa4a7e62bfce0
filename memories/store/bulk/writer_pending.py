"""A draft on its way through a batch: what is known of it so far and what became of it."""

from dataclasses import dataclass
from uuid import UUID

from access.models import Group
from memories.draft import Draft
from memories.store.pieces import EmbeddedText
from memories.store.search_columns import TextColumns


@dataclass
class Pending:
    """A draft with its place among the others; `outcome` is empty until it is decided (one of store.Outcome).

    `columns` are those that follow from its text, where they are made already.
    """

    index: int
    draft: Draft
    group: Group | None = None
    embedded: EmbeddedText | None = None
    columns: TextColumns | None = None
    outcome: str = ""
    why: str = ""
    id: UUID | None = None

    @property
    def room(self) -> Group:
        """The group, once it is resolved."""
        assert self.group is not None, "the group is resolved before anything is written"  # noqa: S101
        return self.group

    @property
    def pieces(self) -> EmbeddedText:
        """The text's pieces, once they are cut."""
        assert self.embedded is not None, "pieces are cut before anything is written"  # noqa: S101
        return self.embedded
