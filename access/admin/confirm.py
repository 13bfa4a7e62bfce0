"""The confirmation page before an action: it lists the consequences and asks for a reason."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanWidget

from access.admin.page import LociAdmin
from access.errors import LociError

_MAX_REASON = 1000  # characters, the limit of the verbs


@dataclass(frozen=True)
class Confirmation:
    """The content of a confirmation page. `asks_reason`: True requires a reason, False makes it optional, None hides it.

    `offers_quotes`: a box asks whether what quotes the text goes too.
    """

    title: str
    button: str
    back: str
    about: str = ""
    consequences: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    is_dangerous: bool = False
    asks_reason: bool | None = False
    offers_quotes: bool = False


class ReasonForm(forms.Form):
    """The reason for an action, stored in the audit log."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=_MAX_REASON,
        required=False,
        help_text=gettext_lazy("Stored in the audit log with your name."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )

    def __init__(self, data: Any = None, *, is_required: bool = False) -> None:
        super().__init__(data)
        self.fields["reason"].required = is_required


class _PurgeForm(ReasonForm):
    """The reason for a purge, and whether it destroys what quotes the text."""

    quotes = forms.BooleanField(
        label=gettext_lazy("Purge the memories that quote it, too"),
        required=False,
        help_text=gettext_lazy("Only in groups that you curate."),
        widget=UnfoldBooleanWidget(),
    )


def reason_form(request: HttpRequest, question: Confirmation) -> ReasonForm:
    """The form for the reason, bound to the submitted data if there is any."""
    form = _PurgeForm if question.offers_quotes else ReasonForm
    return form(request.POST if request.method == "POST" else None, is_required=question.asks_reason is True)


def render_confirmation(
    admin: LociAdmin, request: HttpRequest, question: Confirmation, form: ReasonForm
) -> HttpResponse:
    """The confirmation page."""
    context = {"title": question.title, "question": question, "form": form}
    return admin.render(request, "admin/loci/confirm.html", context)


def confirm(
    admin: LociAdmin, request: HttpRequest, question: Confirmation, act: Callable[[str], str]
) -> HttpResponse:
    """The confirmation page; once it is answered, the page behind it with what `act` says, or with its refusal.

    `act` gets the reason and returns what was done, in a sentence.

    Raises:
        LociError: the caller may not do it.
    """
    form = reason_form(request, question)
    if request.method != "POST" or not form.is_valid():
        return render_confirmation(admin, request, question, form)
    try:
        messages.success(request, act(form.cleaned_data["reason"]))
    except LociError as refusal:
        if refusal.status == 403:
            raise
        messages.error(request, str(refusal))
    return HttpResponseRedirect(question.back)
