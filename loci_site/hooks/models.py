"""Sessions of agents' clients as their hooks report them, what was injected into them, and the heads they worked on."""

from django.db import models
from django.utils import timezone

from access.models import ApiToken, Group
from memories.models import Checkpoint


class HookSession(models.Model):
    """A session of one client. `state` holds what its checkpoint says, `start_hash` what it got at its start."""

    key = models.BigAutoField(primary_key=True)
    token = models.ForeignKey(ApiToken, on_delete=models.CASCADE, related_name="+")
    client = models.CharField(max_length=40)
    session = models.CharField(max_length=200)
    group = models.ForeignKey(Group, null=True, on_delete=models.SET_NULL, related_name="+")
    folder = models.CharField(max_length=1000, default="")
    origin = models.CharField(max_length=500, default="")
    state = models.JSONField(default=dict)
    checkpoint = models.ForeignKey(Checkpoint, null=True, on_delete=models.SET_NULL, related_name="+")
    start_hash = models.CharField(max_length=64, default="")
    is_off = models.BooleanField(default=False)
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="hook_session_once", fields=["token", "client", "session"])
        ]

    def __str__(self) -> str:
        return f"{self.client} {self.session}"


class HookInjection(models.Model):
    """A memory injected into a session. `is_forgotten` after a compaction: it may come again.

    It names the memory by id, so a purge leaves no text here. `used_at`: an answer of the session named it later.
    """

    key = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(HookSession, on_delete=models.CASCADE, related_name="injections")
    memory_id = models.UUIDField(db_index=True)
    event = models.CharField(max_length=20)
    at = models.DateTimeField(default=timezone.now, db_index=True)
    tokens = models.PositiveIntegerField()
    is_forgotten = models.BooleanField(default=False)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.event} {self.memory_id}"


class RepositoryHead(models.Model):
    """A head that a client's session worked on, and which of the commits named by memories it contains.

    `known` has True or False for each commit that the client was asked about. The newest row of a token counts for its
    other calls, as long as it is fresh.
    """

    key = models.BigAutoField(primary_key=True)
    token = models.ForeignKey(ApiToken, on_delete=models.CASCADE, related_name="+")
    origin = models.CharField(max_length=500, default="")
    branch = models.CharField(max_length=200, default="")
    head = models.CharField(max_length=64)
    known = models.JSONField(default=dict)
    seen_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="repository_head_once", fields=["token", "origin", "head"])
        ]

    def __str__(self) -> str:
        return f"{self.branch} {self.head[:10]}"
