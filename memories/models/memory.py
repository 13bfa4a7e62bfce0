"""A memory: a text worth keeping, with its type, state and trust, when it was true, and its author."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from access.models import ApiToken, Group
from memories.models.short_id import short_id_index
from memories.models.text_lookup import unique_live_text
from memories.models.thread import Thread
from memories.types import RELATION_SOURCE, Scope, State, Trust, Type
from storage.ids import new_id


class Memory(models.Model):
    """One version of a memory. Its content, type and valid_from never change: an edit is a new row of the chain.

    `key` is the stable rowid that the full-text and vector indexes use; `id` is the public identifier. A chain's rows
    share `root` (None in the root itself); `superseded_by` points to the successor. `summary` stands for a compacted event
    in lists and counts: nothing else about the event changes, and recall finds it as before.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    content = models.TextField()
    content_hash = models.CharField(max_length=64, editable=False)
    fold_hash = models.CharField(max_length=64, editable=False)
    type = models.CharField(max_length=10, choices=Type)
    scope = models.CharField(max_length=6, choices=Scope)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="memories")
    thread = models.ForeignKey(
        Thread, null=True, blank=True, on_delete=models.PROTECT, related_name="memories", db_index=False
    )
    position = models.PositiveIntegerField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.LIVE)
    trust = models.CharField(max_length=11, choices=Trust, default=Trust.ACTIVE)
    tags = models.JSONField(default=list, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    source = models.CharField(max_length=200, blank=True, default="")
    source_ref = models.CharField(max_length=300, blank=True, default="")
    confidence = models.FloatField(default=0.7)
    importance = models.PositiveSmallIntegerField(default=5)
    pinned = models.BooleanField(default=False)
    outside = models.BooleanField(default=False)
    anchor_commit = models.CharField(max_length=64, blank=True, default="")
    access_count = models.PositiveIntegerField(default=0, editable=False)
    last_accessed = models.DateTimeField(null=True, blank=True, editable=False)
    decayed_at = models.DateTimeField(null=True, blank=True, editable=False)
    superseded_by = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="supersedes",
        editable=False,
        db_index=False,
    )
    root = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="versions",
        editable=False,
        db_index=False,
    )
    summary = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="compacted",
        editable=False,
        db_index=False,
    )
    version = models.PositiveIntegerField(default=1, editable=False)
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_to = models.DateTimeField(null=True, blank=True)
    valid_to_known_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    retired_at = models.DateTimeField(null=True, blank=True, editable=False)
    state_changed_at = models.DateTimeField(null=True, blank=True, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    # When its text was last confirmed: a person decided about it, or it was stored again. None: not since created_at.
    confirmed_at = models.DateTimeField(null=True, blank=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        editable=False,
        db_index=False,
    )
    author_name = models.CharField(max_length=300, blank=True, default="", editable=False)
    token = models.ForeignKey(
        ApiToken,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        editable=False,
        db_index=False,
    )
    client = models.CharField(max_length=120, blank=True, default="", editable=False)
    run = models.UUIDField(null=True, blank=True, editable=False)
    # For the keyword index: `context` holds neighbours and tags, `filter` the tokens that narrow a search, `forms` the
    # words in other forms.
    context = models.TextField(blank=True, default="", editable=False)
    filter = models.CharField(max_length=200, blank=True, default="", editable=False)
    forms = models.TextField(blank=True, default="", editable=False)
    # The days that the text names, as keep_days() writes them; None: not read yet.
    days = models.TextField(null=True, editable=False)

    class Meta:
        verbose_name_plural = "memories"
        ordering = ["-key"]
        constraints = [
            models.CheckConstraint(name="memory_type_known", condition=Q(type__in=Type.values)),
            models.CheckConstraint(name="memory_scope_known", condition=Q(scope__in=Scope.values)),
            models.CheckConstraint(name="memory_state_known", condition=Q(state__in=State.values)),
            models.CheckConstraint(name="memory_trust_known", condition=Q(trust__in=Trust.values)),
            models.CheckConstraint(
                name="memory_confidence_range", condition=Q(confidence__gte=0) & Q(confidence__lte=1)
            ),
            models.CheckConstraint(
                name="memory_importance_range", condition=Q(importance__gte=1) & Q(importance__lte=10)
            ),
            models.CheckConstraint(
                name="memory_valid_in_order",
                condition=Q(valid_from=None) | Q(valid_to=None) | Q(valid_to__gte=F("valid_from")),
            ),
            models.CheckConstraint(name="memory_not_own_successor", condition=~Q(superseded_by=F("key"))),
            models.UniqueConstraint(
                name="memory_source_once",
                fields=["group", "source", "source_ref"],
                condition=~Q(source_ref=""),
            ),
            # Later versions share their root's position, so only roots have unique ones.
            models.UniqueConstraint(
                name="memory_position_once",
                fields=["thread", "position"],
                condition=Q(thread__isnull=False) & Q(position__isnull=False) & Q(root=None),
            ),
            unique_live_text(),
        ]
        indexes = [
            models.Index(name="memory_group_state", fields=["group", "state", "key"]),
            models.Index(
                name="memory_thread_order", fields=["thread", "position"], condition=Q(thread__isnull=False)
            ),
            # Partial: most memories have none of these.
            *(
                models.Index(name=f"memory_{name}", fields=[name], condition=Q(**{f"{name}__isnull": False}))
                for name in ("thread", "superseded_by", "root", "summary", "author", "token")
            ),
            models.Index(name="memory_expiry", fields=["expires_at"], condition=Q(expires_at__isnull=False)),
            # Every context pack begins with these rows.
            models.Index(
                name="memory_kept",
                fields=["group", "key"],
                condition=Q(pinned=True) | Q(trust=Trust.VERIFIED),
            ),
            models.Index(
                name="memory_waiting",
                fields=["trust", "key"],
                condition=~Q(trust__in=[Trust.ACTIVE, Trust.VERIFIED]),
            ),
            # Covers the filters of lists, in list order and without the texts: 40 bytes a row instead of its whole page.
            models.Index(
                name="memory_listed",
                fields=["key", "group", "scope", "type", "state", "trust", "pinned", "summary"],
            ),
            # What the Review asks about, in its order; queries/sql/unconfirmed.sql repeats the condition.
            models.Index(
                F("group"),
                F("importance").desc(),
                Coalesce("confirmed_at", "created_at"),
                F("type"),
                name="memory_asked",
                condition=Q(
                    state=State.LIVE,
                    trust__in=[Trust.ACTIVE, Trust.VERIFIED],
                    type__in=[Type.SEMANTIC, Type.PROCEDURAL],
                    expires_at=None,
                    valid_to=None,
                ),
            ),
            models.Index(name="memory_anchor", fields=["anchor_commit"], condition=~Q(anchor_commit="")),
            short_id_index(),
        ]

    def __str__(self) -> str:
        return self.content[:80]

    @property
    def is_name_alone(self) -> bool:
        """True for an entity that only a relation names: its text is the name."""
        return self.type == Type.ENTITY and self.source == RELATION_SOURCE

    @property
    def was_undone(self) -> bool:
        """True for a version whose write was undone: it stands behind the version that returned."""
        if (
            self.state != State.SUPERSEDED
            or self.retired_at is None
            or not 0 < (self.superseded_by_id or 0) < self.key
        ):
            return False
        former = self.superseded_by
        return former is not None and former.root_key == self.root_key and former.version < self.version

    @property
    def moment(self) -> datetime:
        """When it happened or began to be true; without a date of its own, when it was stored."""
        return self.valid_from or self.created_at

    @property
    def root_key(self) -> int:
        """Key of the chain's root, which relations and links point to."""
        return self.root_id or self.key


class MovedSource(models.Model):
    """Where imports into a group find a source whose memory was moved to another group."""

    key = models.BigAutoField(primary_key=True)
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="+")
    source = models.CharField(max_length=200, blank=True, default="")
    source_ref = models.CharField(max_length=300)
    to = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(name="moved_source_once", fields=["group", "source_ref", "source"])
        ]
        indexes = [models.Index(name="moved_source_ref", fields=["source_ref"])]

    def __str__(self) -> str:
        return f"{self.source} {self.source_ref}"
