"""My account: password, own tokens, sessions and preferences, for everyone who may log in."""

from collections.abc import AsyncIterator
from io import BytesIO
from tempfile import TemporaryFile
from typing import IO

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.db import transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils import translation
from django.utils.http import content_disposition_header
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from access.admin.caller import actor_of
from access.admin.form_errors import try_form
from access.admin.page import render_in_site
from access.clients import CLIENTS
from access.models import ApiToken, Membership
from access.sign_in.login import count_failure
from access.sign_in.preferences import preference_of_user, set_preference
from access.sign_in.sessions import end_other_sessions, end_session, open_sessions
from access.sign_in.users import log_password
from access.tokens.pairing import MAX_TRIES, show_code
from loci_site.app.account_forms import ClientForm, OwnPasswordForm, PreferenceForm
from loci_site.app.notifications.pages import notification_context
from loci_site.app.page import framed_page, get_or_post, own_user, render_form
from loci_site.config.middleware import language_of
from loci_site.enrolment.lines import enrolment_lines
from memories.store.places import CHUNK_BYTES
from sources.personal.export import export_person, file_name
from storage.encryption import database_key

MAX_TOKENS = 100


@framed_page
@require_GET
def account(request: HttpRequest) -> HttpResponse:
    """The caller's groups, tokens, sessions and preferences."""
    user, stored = own_user(request), preference_of_user(request.user)
    members = Membership.objects.filter(user=user, group__archived=False).select_related("group")
    tokens = ApiToken.objects.filter(user=user).prefetch_related("groups").order_by("-created_at")
    context = {
        "title": gettext("My account"),
        "members": members.order_by("group__slug"),
        "tokens": sorted(tokens[:MAX_TOKENS], key=lambda token: not token.is_valid()),
        "sessions": open_sessions(user, current=request.session.session_key),
        "form": PreferenceForm(initial={name: getattr(stored, name) for name in PreferenceForm.base_fields}),
        "notify": notification_context(request, user),
    }
    return render_in_site(request, "admin/account/page.html", context)


@framed_page
@require_POST
def save_preferences(request: HttpRequest) -> HttpResponse:
    """Store language, theme, time zone and keys; the answer is in the new language."""
    form = PreferenceForm(request.POST)
    if form.is_valid():
        stored = set_preference(actor_of(request), **form.cleaned_data)
        translation.activate(language_of(request, stored))  # until page_language() ends the request
        messages.success(request, gettext("Saved."))
        return redirect("people:account")
    title, button = gettext("Preferences"), gettext("Save")
    return render_form(request, form, title=title, button=button)


@framed_page
@require_POST
def download_data(request: HttpRequest) -> StreamingHttpResponse:
    """The zip of the caller's own data, sent from a file without a name; of an encrypted store from memory."""
    user = own_user(request)
    file = BytesIO() if database_key() else TemporaryFile(dir=settings.LOCI.home)  # noqa: SIM115 - closed when it is sent
    export_person(actor_of(request), user, file)
    name = content_disposition_header(as_attachment=True, filename=file_name(user))
    headers = {"Content-Disposition": name or "attachment"}
    return StreamingHttpResponse(_parts_of(file), content_type="application/zip", headers=headers)


async def _parts_of(file: IO[bytes]) -> AsyncIterator[bytes]:
    """The file from its beginning, in parts; closed at the end."""
    with file:
        file.seek(0)
        while part := file.read(CHUNK_BYTES):
            yield part


@framed_page
@get_or_post
def change_password(request: HttpRequest) -> HttpResponse:
    """The form for a new password; the caller stays logged in here and nowhere else."""
    user = own_user(request)
    form = OwnPasswordForm(request, user, request.POST or None)
    if form.is_valid():
        with transaction.atomic():
            form.save()
            log_password(actor_of(request), user)
        update_session_auth_hash(request, user)
        line = gettext("Your password is changed. Other sessions have ended; your tokens still work.")
        messages.success(request, line)
        return redirect("people:account")
    if "old_password" in form.errors and form.is_wrong:
        count_failure(request, user.get_username())
    title, button = gettext("New password"), gettext("Change the password")
    return render_form(request, form, title=title, button=button)


@framed_page
@get_or_post
def connect_client(request: HttpRequest) -> HttpResponse:
    """Ask which client; then the line that connects it, with a one-time code."""
    form = ClientForm(request.POST or None)

    def create() -> HttpResponse:
        client = form.cleaned_data["client"]
        shown = show_code(actor_of(request), own_user(request), client)
        context = {
            "title": gettext("Connect {client}").format(client=CLIENTS[client].title),
            "lines": enrolment_lines(client, shown.code),
            "expires_at": shown.expires_at,
            "spec": CLIENTS[client],
        }
        return render_in_site(request, "admin/account/connect.html", context)

    title, button = gettext("Connect your client"), gettext("Show the line")
    return try_form(form, create) or render_form(request, form, title=title, button=button)


@framed_page
@require_POST
def pair_browser(request: HttpRequest) -> HttpResponse:
    """Show a new code that connects a browser extension."""
    shown = show_code(actor_of(request), own_user(request))
    context = {
        "title": gettext("Connect a browser"),
        "code": f"{shown.code[:3]} {shown.code[3:]}",
        "expires_at": shown.expires_at,
        "tries": MAX_TRIES,
        "address": request.build_absolute_uri("/").rstrip("/"),
    }
    return render_in_site(request, "admin/account/pair.html", context)


@framed_page
@require_POST
def end_one(request: HttpRequest, handle: str) -> HttpResponse:
    end_session(actor_of(request), own_user(request), handle)
    messages.success(request, gettext("That session has ended."))
    return redirect("people:account")


@framed_page
@require_POST
def end_others(request: HttpRequest) -> HttpResponse:
    """Log out everywhere but here."""
    count = end_other_sessions(actor_of(request), own_user(request), current=request.session.session_key)
    line = gettext("Sessions ended: {count}.") if count else gettext("There was no other session.")
    messages.success(request, line.format(count=count))
    return redirect("people:account")
