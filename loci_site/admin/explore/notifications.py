"""Webhooks and the log of deliveries, for superusers."""

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from access.admin.caller import actor_of
from access.admin.form_errors import try_form
from access.admin.page import Secret, render_in_site, render_secrets
from access.errors import LociError, NotFound
from loci_site.app.notifications.choices import change_webhook, check_admin, create_webhook
from loci_site.app.notifications.models import Delivery, Event, Webhook
from loci_site.app.notifications.outbox import KEPT_DAYS
from loci_site.app.notifications.senders import is_mail_on, secret_of

SHOWN = 100  # deliveries
SAID = {
    "on": gettext_lazy("“{}” is switched on."),
    "off": gettext_lazy("“{}” is switched off."),
    "test": gettext_lazy("A test to “{}” is on its way."),
    "delete": gettext_lazy("“{}” is deleted."),
}


class _WebhookForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True}),
    )
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=500,
        widget=UnfoldAdminTextInputWidget(
            attrs={"type": "url", "placeholder": "https://hooks.example.org/loci"}
        ),
        help_text=gettext_lazy("https. A private address must be listed in notifications.webhook_hosts."),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Call it when"),
        choices=Event.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )


def show_notifications(request: HttpRequest) -> HttpResponse:
    """The page with the state of mail, the webhooks and the newest deliveries."""
    check_admin(actor_of(request))
    labels = dict(Event.choices)
    context = {
        "title": gettext("Notifications"),
        "mail": settings.LOCI.notifications if is_mail_on() else None,
        "webhooks": [
            (each, [labels[name] for name in each.events if name in labels]) for each in Webhook.objects.all()
        ],
        "deliveries": Delivery.objects.select_related("user", "webhook")[:SHOWN],
        "shown": SHOWN,
        "kept_days": KEPT_DAYS,
    }
    return render_in_site(request, "admin/explore/notifications.html", context)


@require_http_methods(["GET", "POST"])
def add_webhook(request: HttpRequest) -> HttpResponse:
    """The form for a webhook; then its secret, shown once."""
    check_admin(actor := actor_of(request))
    form = _WebhookForm(request.POST or None)

    def add() -> HttpResponse:
        return _show_secret(request, create_webhook(actor, **form.cleaned_data))

    context: dict[str, Any] = {
        "title": gettext("New webhook"),
        "form": form,
        "button": gettext("Add the webhook"),
        "back": reverse("admin:explore_notifications"),
    }
    return try_form(form, add) or render_in_site(request, "admin/loci/form.html", context)


@require_http_methods(["POST"])
def act_on_webhook(request: HttpRequest, id_: UUID, action: str) -> HttpResponse:
    """Switch a webhook on or off, test it, give it a new secret, or delete it."""
    check_admin(actor := actor_of(request))
    webhook = Webhook.objects.filter(id=id_).first()
    if webhook is None:
        raise NotFound(gettext("There is no such webhook."), hint=gettext("It may have been deleted."))
    try:
        change_webhook(actor, webhook, action)
    except LociError as refusal:
        messages.error(request, str(refusal))
    else:
        if action == "secret":
            return _show_secret(request, webhook)
        messages.success(request, SAID[action].format(webhook.name))
    return HttpResponseRedirect(reverse("admin:explore_notifications"))


def _show_secret(request: HttpRequest, webhook: Webhook) -> HttpResponse:
    below = gettext(
        "The receiver checks each message with it, as Standard Webhooks says: the header webhook-signature signs"
        " webhook-id.webhook-timestamp.body."
    )
    title = gettext("The secret of “{name}”").format(name=webhook.name)
    context = {"title": title, "back": reverse("admin:explore_notifications")}
    return render_secrets(request, [Secret(gettext("Secret"), secret_of(webhook), below=below)], context)
