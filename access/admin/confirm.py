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

    `offers_quotes`: a box asks whether what quotes the text goes too. `onward` is the page afterwards if it is not `back`.
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
    onward: str = ""


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


def show_refusal(request: HttpRequest, refusal: LociError, back: str) -> HttpResponse:
    """The page `back` with the refusal as a message; raises it if it is about rights or about what is not there."""
    if refusal.status in (403, 404):
        raise refusal
    messages.error(request, str(refusal))
    return HttpResponseRedirect(back)


def confirm(
    admin: LociAdmin, request: HttpRequest, question: Confirmation, act: Callable[..., str]
) -> HttpResponse:
    """The confirmation page; once it is answered, the page behind it with what `act` says, or with its refusal.

    `act` gets the fields of the form and returns what was done, in a sentence.

    Raises:
        LociError: the caller may not do it, or what it is about is gone.
    """
    kind = _PurgeForm if question.offers_quotes else ReasonForm
    form = kind(request.POST if request.method == "POST" else None, is_required=question.asks_reason is True)
    if not form.is_valid():
        context = {"title": question.title, "question": question, "form": form}
        return admin.render(request, "admin/loci/confirm.html", context)
    try:
        messages.success(request, act(**form.cleaned_data))
    except LociError as refusal:
        return show_refusal(request, refusal, question.back)
    return HttpResponseRedirect(question.onward or question.back)
