"""The first steps of a new store; each ticks itself off, and the list goes once all are done."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext

from access.actor import Actor
from access.models import ApiToken
from loci_site.admin.dashboard.counts import VisibleCensus
from maintenance.backups.folder import backup_paths


@dataclass(frozen=True)
class _FirstStep:
    text: str
    link: str
    is_done: bool


def first_steps(actor: Actor, seen: VisibleCensus | None) -> list[_FirstStep]:
    """The steps of the actor; empty once all are done, or while the memories are still counted."""
    if seen is None:
        return []
    is_operator = actor.is_admin_of_all
    used = ApiToken.objects.exclude(last_used_at=None)
    steps = [
        _FirstStep(
            gettext("Connect an agent"),
            reverse("people:new-token"),
            (used if is_operator else used.filter(user=actor.user_id)).exists(),
        ),
        _FirstStep(gettext("Store a memory"), reverse("admin:memories_memory_add"), bool(seen.sum())),
        *(_operator_steps() if is_operator else []),
    ]
    return [] if all(step.is_done for step in steps) else steps


def _operator_steps() -> list[_FirstStep]:
    """The steps of a person who administers everything."""
    invited = User.objects.filter(is_active=True).order_by()[:2].count() > 1
    steps = [_FirstStep(gettext("Invite your team"), reverse("admin:auth_user_add"), invited)]
    link = reverse("admin:maintenance_joblock_backups")
    return [*steps, _FirstStep(gettext("Make a backup"), link, any(True for _ in backup_paths()))]
