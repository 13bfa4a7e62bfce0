"""Admin page of watched folders: their problems, and buttons to pause, resume and remove. No page takes a path."""

from collections.abc import Callable
from typing import Any, Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.page import LociAdmin
from access.connect import command_line
from access.errors import LociError, NotFound
from sources.models import WatchedFile, WatchedFolder, WatchedSection, WatchState
from sources.watching.folders import (
    accept_gone,
    find_folder,
    list_folders,
    pause_folder,
    remove_folder,
    resume_folder,
)

_MAX_PROBLEMS: Final = 20  # shown of a folder
# For each button: the function, icon, label and message.
ACTIONS: Final[dict[str, tuple[Callable[[Actor, WatchedFolder], None], str, str, str]]] = {
    "pause": (pause_folder, "pause", gettext_noop("Pause"), gettext_noop("The folder '{}' is left alone until it is resumed.")),
    "resume": (resume_folder, "play_arrow", gettext_noop("Resume"), gettext_noop("The folder '{}' is read again.")),
    "accept": (
        accept_gone, "check", gettext_noop("This is intended"),
        gettext_noop("What is gone from '{}' becomes unconfirmed; the Review has it."),
    ),
    "remove": (
        remove_folder, "close", gettext_noop("Remove"), gettext_noop("The folder '{}' is not watched any more; its memories and files stay."),
    ),
}  # fmt: skip
_OFFERED: Final = {
    WatchState.ACTIVE: ("pause", "remove"),
    WatchState.PAUSED: ("resume", "remove"),
    WatchState.MISSING: ("resume", "pause", "remove"),
    WatchState.ASKING: ("accept", "resume", "pause", "remove"),
}


@admin.register(WatchedFolder)
class WatchedFolderAdmin(LociAdmin):
    """The watched folders, for admins of all groups: their paths are the machine's."""

    list_name = gettext_lazy("Watched folders")
    own_pages = {"action": ("<str:id>/<str:action>-folder/", "change_folder")}

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """No rows: the page shows folders with buttons, not rows with pages."""
        return rows.none()

    def has_module_permission(self, request: HttpRequest) -> bool:
        """True for admins of all groups."""
        actor = actor_of(request)
        return actor.is_admin_of_all

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """All folders with their buttons and the problems of their files."""
        if not self.has_module_permission(request):
            raise PermissionDenied
        context = {
            "title": gettext("Watched folders"),
            "rows": [self._row(folder) for folder in list_folders(actor_of(request))],
            "command": command_line("watch DIR --group NAME"),
        }
        return self.render(request, "admin/sources/watchedfolder/list.html", context)

    def change_folder(self, request: HttpRequest, id: str, action: str) -> HttpResponse:  # noqa: A002 - as in the URL
        """Apply a button's action to a folder, and show the list again."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if action not in ACTIONS:
            raise NotFound(
                gettext("Folders have no action '{action}'.").format(action=action[:40]),
                hint=gettext("Use one of {actions}.").format(actions=", ".join(ACTIONS)),
            )
        change, _, _, message = ACTIONS[action]
        actor = actor_of(request)
        folder = find_folder(actor, id)
        try:
            change(actor, folder)
            messages.success(request, gettext(message).format(folder.name))
        except LociError as refusal:
            messages.error(request, str(refusal))
        return HttpResponseRedirect(self.url("changelist"))

    def _row(self, folder: WatchedFolder) -> dict[str, Any]:
        problems = WatchedFile.objects.filter(folder=folder).exclude(problem="").order_by("path")
        return {
            "folder": folder,
            "files": WatchedFile.objects.filter(folder=folder, gone_since=None).count(),
            "sections": WatchedSection.objects.filter(file__folder=folder, gone_since=None).count(),
            "problems": problems[:_MAX_PROBLEMS],
            "actions": [
                {
                    "url": self.url("action", folder.id, name),
                    "icon": ACTIONS[name][1],
                    "label": gettext(ACTIONS[name][2]),
                }
                for name in _OFFERED[WatchState(folder.state)]
            ],
        }
