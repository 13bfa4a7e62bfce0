"""The page between a button and what it does: it says what follows and asks for the reason."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminTextareaWidget

from access.admin.page import LociAdmin

MAX_REASON = 1000  # characters, as the verbs take it


@dataclass(frozen=True)
class Confirmation:
    """What a person is asked before something is done. `asks_reason` None: no reason is taken; True: it must be given."""

    title: str
    button: str
    back: str
    about: str = ""
    consequences: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    is_dangerous: bool = False
    asks_reason: bool | None = False


class ReasonForm(forms.Form):
    """Why something is done; it is kept in the audit log."""

    reason = forms.CharField(
        max_length=MAX_REASON,
        required=False,
        help_text="Kept in the audit log with your name.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )

    def __init__(self, data: Any = None, *, must: bool = False) -> None:
        super().__init__(data)
        self.fields["reason"].required = must


def reason_form(request: HttpRequest, question: Confirmation) -> ReasonForm:
    """Give the form, filled where the person has answered."""
    return ReasonForm(request.POST if request.method == "POST" else None, must=question.asks_reason is True)


def render_confirmation(
    admin: LociAdmin, request: HttpRequest, question: Confirmation, form: ReasonForm
) -> HttpResponse:
    """Give the page with the question."""
    context = {"title": question.title, "question": question, "form": form}
    return admin.render(request, "admin/loci/confirm.html", context)
