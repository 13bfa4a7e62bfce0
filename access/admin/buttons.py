"""A page of things with buttons, for admins of all groups: each button calls a service, and the page says what was done."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.utils.translation import gettext

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.confirm import show_refusal
from access.admin.page import LociAdmin
from access.errors import LociError, NotFound


@dataclass(frozen=True)
class Button:
    """A button: its service, which gets the actor and a thing, and its icon, label and message, both in English."""

    carry_out: Callable[[Actor, Any], Any]
    icon: str
    label: str
    done: str


class ButtonAdmin(LociAdmin):
    """The list is one page of things. `own_pages` has the address of "press", with `name` and `action`."""

    buttons: ClassVar[Mapping[str, Button]]

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """No rows: the page shows things with buttons."""
        return rows.none()

    def has_module_permission(self, request: HttpRequest) -> bool:
        return actor_of(request).is_admin_of_all

    def press(self, request: HttpRequest, name: str, action: str) -> HttpResponse:
        """Carry out a button of the thing of this name, and show the page again."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if action not in self.buttons:
            raise NotFound(
                gettext("There is no action '{action}'.").format(action=action[:40]),
                hint=gettext("Use one of {actions}.").format(actions=", ".join(self.buttons)),
            )
        button, actor = self.buttons[action], actor_of(request)
        thing = self.find(actor, name)
        try:
            button.carry_out(actor, thing)
            messages.success(request, gettext(button.done).format(getattr(thing, "name", thing)))
        except LociError as refusal:
            return show_refusal(request, refusal, self.url("changelist"))
        return HttpResponseRedirect(self.url("changelist"))

    def find(self, actor: Actor, name: str) -> Any:
        """What the services get."""
        return name

    def drawn(self, name: object, offered: Iterable[str]) -> list[dict[str, str]]:
        """The buttons of a thing, for the template."""
        return [
            {
                "url": self.url("press", name, each),
                "icon": self.buttons[each].icon,
                "label": gettext(self.buttons[each].label),
            }
            for each in offered
        ]
