"""The section *Notifications* of My account."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from access.admin.caller import actor_of
from loci_site.app.notifications.choices import (
    choose_events,
    offered_events,
    send_test_mail,
    subscription_of,
)
from loci_site.app.notifications.models import Delivery
from loci_site.app.notifications.senders import is_mail_on
from loci_site.app.page import framed_page, own_user

SHOWN = 5  # of one's own deliveries


def notification_context(request: HttpRequest, user: User) -> dict[str, Any]:
    """The section's values: the events on offer, those chosen, and the newest deliveries."""
    return {
        "offered": offered_events(actor_of(request)),
        "chosen": subscription_of(user).events,
        "deliveries": Delivery.objects.filter(user=user)[:SHOWN],
        "is_mail_on": is_mail_on(),
        "quote": settings.LOCI.notifications.quote,
    }


@framed_page
@require_POST
def save_events(request: HttpRequest) -> HttpResponse:
    """Store the events about which the caller gets mail."""
    user = own_user(request)
    chosen = choose_events(actor_of(request), user, request.POST.getlist("events"))
    messages.success(request, gettext("Saved.") if chosen.events else gettext("Saved. You get no mail."))
    return redirect("people:account")


@framed_page
@require_POST
def test_mail(request: HttpRequest) -> HttpResponse:
    user = own_user(request)
    send_test_mail(actor_of(request), user)
    messages.success(request, gettext("A test mail to {email} is on its way.").format(email=user.email))
    return redirect("people:account")
