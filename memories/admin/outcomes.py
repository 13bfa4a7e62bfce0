"""Who may store, and what became of a memory that a person stored or corrected, as messages of the next page."""

from collections.abc import Sequence
from typing import Final

from django.contrib import messages
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy, ngettext

from access.actor import READ, WRITE, Actor
from access.errors import NotPermitted
from access.groups import entered_groups
from access.groups.guarding import TextFinding
from memories.lifecycle.edit import EditOutcome, EditResult
from memories.store import Outcome, StoreResult

_MAX_FOUND: Final = 20  # findings that are shown
_STORED = {
    Outcome.CREATED: gettext_lazy("Saved."),
    Outcome.REINFORCED: gettext_lazy("This was known already. Its confidence went up."),
    Outcome.UNCHANGED: gettext_lazy("Exactly this was known already. Nothing changed."),
    Outcome.QUEUED: gettext_lazy("Saved. It is not found until a curator approves it."),
}
_EDITED = {
    EditOutcome.NEW_VERSION: gettext_lazy("Corrected. The old text is listed below."),
    EditOutcome.CHANGED: gettext_lazy("Changed."),
    EditOutcome.QUEUED: gettext_lazy(
        "Your correction waits for a curator. Until then the old text stays in use."
    ),
}


def check_may_store(actor: Actor) -> None:
    """Raise NotPermitted, with a hint at who can change that, if there is no group in which the actor may store."""
    if actor.may_somewhere(WRITE):
        return
    if not entered_groups(actor, READ):
        raise NotPermitted(
            gettext("You belong to no group, so there is nowhere to store."),
            hint=gettext("Ask an admin of a group to make you a contributor."),
        )
    raise NotPermitted(
        gettext("You may read here, but not store."),
        hint=gettext("Ask an admin of your group to make you a contributor."),
    )


def report_stored(request: HttpRequest, stored: StoreResult) -> bool:
    """Say what became of a new memory, and name the first similar one that needs a look; False if it was refused."""
    if stored.outcome not in _STORED:
        return False
    why = f" {capfirst(stored.why)}." if stored.why and stored.outcome == Outcome.QUEUED else ""
    messages.success(request, _STORED[stored.outcome] + why)
    if stored.group_created:
        messages.info(request, gettext("The group {group} was created.").format(group=stored.group))
    if stored.is_embedding_owed:
        messages.info(
            request,
            gettext("Its vector follows when the model is available; until then it is found by words only."),
        )
    if stored.removed_characters:
        line = ngettext(
            "{count} control character was removed.",
            "{count} control characters were removed.",
            stored.removed_characters,
        )
        messages.info(request, line.format(count=stored.removed_characters))
    _report_findings(request, stored.findings)
    doubtful = [near for near in stored.neighbours if stored.outcome == Outcome.CREATED and near.why]
    if doubtful:
        line = gettext("A similar memory exists: “{content}”")
        messages.info(request, line.format(content=doubtful[0].memory.content[:160]))
    return True


def report_edited(request: HttpRequest, edited: EditResult) -> None:
    """Say what became of a correction."""
    why = f" {capfirst(edited.why)}." if edited.why else ""
    messages.success(request, _EDITED[edited.outcome] + why)
    _report_findings(request, edited.findings)


def _report_findings(request: HttpRequest, findings: Sequence[TextFinding]) -> None:
    """A message for each thing that the guard found in the text; of many, for the first ones."""
    for found in findings[:_MAX_FOUND]:
        messages.info(request, gettext("Found {words}.").format(words=found.words))
    if len(findings) > _MAX_FOUND:
        messages.info(request, f"… +{len(findings) - _MAX_FOUND}")
