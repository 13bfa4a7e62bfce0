"""The part of a store before its transaction: checks, the group, pieces and vectors, the search for neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils import timezone

from access.actor import WRITE, Actor
from access.errors import Conflict, InvalidInput, LociError, NotPermitted
from access.groups import find_group_to_write, wanted_slug
from access.models import Group
from memories.draft import Draft, check_draft, guard_draft
from memories.embedding import Encoder
from memories.embedding.model import STORE_S
from memories.models import Memory
from memories.queries.versions import find_memory, head_of
from memories.search.rows import Vector
from memories.store.existing import find_moved_sources
from memories.store.neighbours import (
    ComparedText,
    Neighbour,
    NeighbourProbe,
    current_neighbours,
    probe_neighbours,
)
from memories.store.pieces import (
    EmbeddedText,
    available_encoder,
    embed_or_owe,
    embed_passage,
    indexed_model,
    passage_of,
)
from memories.store.policy import refuse_write
from memories.store.supersede import standing_instead
from memories.store.threads import TextColumns
from memories.store.withdrawn.marks import prepare_marks
from memories.store.withdrawn.near import is_probed, withdrawn_neighbours
from memories.types import State, Type


@dataclass(frozen=True)
class PreparedDraft:
    """A draft with everything that can be computed before the transaction.

    `found` None: live neighbours are not searched for, and the writer compares it with withdrawn texts only. `columns`
    None: not computed yet. `is_trial`: nothing is embedded, since the write is rolled back. `hold`: why a person has to
    decide, whatever the policy says; "" leaves it to the policy.
    """

    draft: Draft
    embedded: EmbeddedText
    found: NeighbourProbe | None = None
    superseded: Memory | None = None
    columns: TextColumns | None = None
    is_trial: bool = False
    hold: str = ""

    @property
    def vector(self) -> Vector | None:
        """The vector of the first piece; None if it is not embedded yet."""
        return None if self.embedded.is_owed else self.embedded.vectors[0]

    @property
    def probed_neighbours(self) -> tuple[Neighbour, ...]:
        """The neighbours as they were before the transaction."""
        return self.found.neighbours if self.found is not None else ()

    def current_neighbours(self, group: int) -> tuple[Neighbour, ...]:
        """The neighbours as they are now, inside the transaction that writes into the group (by key)."""
        text, model = ComparedText.of(self.draft), self.embedded.model
        withdrawn = withdrawn_neighbours(text, self.vector, group=group, model=model)
        if self.found is None:
            return withdrawn
        return withdrawn + current_neighbours(text, self.vector, self.found, group=group, model=model)

    def is_probed(self, group: int) -> bool:
        """True if the text can be compared with every withdrawn memory in its reach in the group (by key)."""
        return self.is_trial or is_probed(group, self.draft.scope, self.embedded.model)


@dataclass(frozen=True)
class CheckedDraft:
    """A draft that may be stored, not embedded yet, and where its neighbours are: groups by key."""

    draft: Draft
    groups: frozenset[int]
    encoder: Encoder | None
    superseded: Memory | None = None

    @property
    def is_short(self) -> bool:
        """True if it is a window or two: it is embedded together with others."""
        return self.encoder is not None and len(self.draft.content) <= 2 * self.encoder.max_tokens

    def prepare(self) -> PreparedDraft:
        """Embed and probe it."""
        return self.probe(embed_passage(passage_of(self.draft), encoder=self.encoder))

    def probe(self, embedded: EmbeddedText) -> PreparedDraft:
        """Search the groups for its neighbours; no search unless the index holds vectors of its model."""
        prepare_marks((group, self.draft.content) for group in self.groups)
        is_comparable = not embedded.is_owed and indexed_model() == embedded.model
        vector: Vector | None = embedded.vectors[0] if is_comparable else None
        found = probe_neighbours(ComparedText.of(self.draft), vector, groups=self.groups)
        return PreparedDraft(self.draft, embedded, found, self.superseded)


def prepare_store(actor: Actor, draft: Draft) -> PreparedDraft:
    """Check, embed and probe a draft for store_prepared(); writes nothing. Raises as store() does."""
    return check_store(actor, draft).prepare()


def prepare_together(drafts: Sequence[CheckedDraft]) -> list[PreparedDraft]:
    """Embed short drafts in one batch of the encoder, and probe each."""
    encoders = {id(each.encoder): each.encoder for each in drafts}
    if len(encoders) > 1:  # while all is embedded anew with another window
        return [each.prepare() for each in drafts]
    [encoder] = encoders.values()
    embedded = embed_or_owe([passage_of(each.draft) for each in drafts], encoder=encoder, patience_s=STORE_S)
    return [each.probe(vectors) for each, vectors in zip(drafts, embedded, strict=True)]


def check_store(actor: Actor, draft: Draft) -> CheckedDraft:
    """Check a draft, its group and its text, before it is embedded. Raises as store() does."""
    draft = check_draft(draft)
    superseded = _find_superseded(actor, draft)
    if superseded is not None and draft.group is None:
        draft = replace(draft, group=superseded.group.slug)
    if superseded is not None and draft.valid_from is None and draft.type != Type.EPISODIC:
        now = timezone.now()  # a replacement is true from now on
        if draft.valid_to is not None and draft.valid_to < now:
            raise InvalidInput(
                "'valid_to' has passed, and what replaces another memory is true from now on.",
                hint="Name 'valid_from' as well, or leave 'valid_to' out.",
                field="valid_to",
            )
        draft = replace(draft, valid_from=now)
    if superseded is None:
        [followed] = follow_moved_sources(actor, [draft])
        if isinstance(followed, LociError):
            raise followed
        draft = followed
    group = find_group_to_write(actor, draft.group)
    draft = guard_draft(draft, group, actor.door)
    return CheckedDraft(draft, frozenset({group.key} if group else ()), available_encoder(), superseded)


def follow_moved_sources(actor: Actor, drafts: Sequence[Draft]) -> list[Draft | LociError]:
    """The drafts, each for the group that its source's memory was moved to; an error where the actor may not write."""
    if not any(draft.source_ref for draft in drafts):
        return list(drafts)
    slugs = {wanted_slug(actor, draft.group) for draft in drafts}
    keys = dict(Group.objects.filter(slug__in=slugs).values_list("slug", "key"))
    placed = [(keys.get(wanted_slug(actor, draft.group), 0), draft) for draft in drafts]
    moved = find_moved_sources([(key if actor.may_enter(key) else 0, draft) for key, draft in placed])
    followed: list[Draft | LociError] = list(drafts)
    for at, to in moved.items():
        if actor.may(WRITE, to.key) and not to.archived:
            followed[at] = replace(drafts[at], group=to.slug)
            continue
        followed[at] = NotPermitted(  # it does not name the group
            "The memory of this source was moved to another group, where you may not write.",
            hint="Ask a curator of this group.",
            field="source_ref",
        )
    return followed


def prepare_text(actor: Actor, draft: Draft, *, encoder: Encoder | None) -> PreparedDraft:
    """Embed a checked draft and search for its neighbours; writes nothing."""
    group = Group.objects.filter(slug=wanted_slug(actor, draft.group)).first()
    groups = {group.key} if group is not None and actor.may_enter(group.key) else ()
    return CheckedDraft(draft, frozenset(groups), encoder).prepare()


def _find_superseded(actor: Actor, draft: Draft) -> Memory | None:
    """The head of the chain that the draft supersedes; it must be live, in a group that the actor may write to."""
    if not draft.supersedes:
        return None
    named = find_memory(actor, draft.supersedes, field="supersedes")
    head = head_of(named)
    if not actor.may(WRITE, head.group_id):
        refuse_write(actor, head)
    instead = standing_instead(head)
    if head.state != State.LIVE or instead is not None:
        stands = head.state if head.state != State.LIVE else head.trust
        raise Conflict(
            f"{head.id} is {stands}; only a live memory can be superseded.",
            hint="Store without supersedes, or restore it first."
            if instead is None
            else f"{instead.id} is still current. Supersede it instead.",
            field="supersedes",
        )
    return head
