"""Admin page of watched folders: their problems, and buttons to pause, resume and remove. No page takes a path."""

from typing import Any, ClassVar, Final

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from access.actor import Actor
from access.admin.buttons import Button, ButtonAdmin
from access.admin.caller import actor_of
from access.connect import command_line
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
_OFFERED: Final = {
    WatchState.ACTIVE: ("pause", "remove"),
    WatchState.PAUSED: ("resume", "remove"),
    WatchState.MISSING: ("resume", "pause", "remove"),
    WatchState.ASKING: ("accept", "resume", "pause", "remove"),
}


@admin.register(WatchedFolder)
class WatchedFolderAdmin(ButtonAdmin):
    """The watched folders, for admins of all groups: their paths are the machine's."""

    list_name = gettext_lazy("Watched folders")
    own_pages = {"press": ("<str:name>/<str:action>-folder/", "press")}
    buttons: ClassVar[Any] = {
        "pause": Button(pause_folder, "pause", gettext_noop("Pause"), gettext_noop("The folder '{}' is left alone until it is resumed.")),
        "resume": Button(resume_folder, "play_arrow", gettext_noop("Resume"), gettext_noop("The folder '{}' is read again.")),
        "accept": Button(
            accept_gone, "check", gettext_noop("This is intended"),
            gettext_noop("What is gone from '{}' becomes unconfirmed; the Review has it."),
        ),
        "remove": Button(
            remove_folder, "close", gettext_noop("Remove"),
            gettext_noop("The folder '{}' is not watched any more; its memories and files stay."),
        ),
    }  # fmt: skip

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

    def find(self, actor: Actor, name: str) -> WatchedFolder:
        return find_folder(actor, name)

    def _row(self, folder: WatchedFolder) -> dict[str, Any]:
        problems = WatchedFile.objects.filter(folder=folder).exclude(problem="").order_by("path")
        return {
            "folder": folder,
            "files": WatchedFile.objects.filter(folder=folder, gone_since=None).count(),
            "sections": WatchedSection.objects.filter(file__folder=folder, gone_since=None).count(),
            "problems": problems[:_MAX_PROBLEMS],
            "actions": self.drawn(folder.id, _OFFERED[WatchState(folder.state)]),
        }
