"""Errors of services as a browser gets them: in the form that caused them, or as JSON for a page's script."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext

from access.errors import LociError, SensitiveText
from guard import KINDS, Family


def refusing_as_json(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Wrap a view to return a refusal as JSON: the page's script shows it, where a redirect would hide it."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except LociError as refusal:
            headers = {"Cache-Control": "no-store"}
            return JsonResponse(refusal.as_dict(), status=refusal.status, headers=headers)

    return answered


def show_error(form: forms.Form, error: LociError) -> None:
    """Show the error next to its field, or above the form if the field is not visible."""
    visible = {field.name for field in form.visible_fields()}
    form.add_error(error.field if error.field in visible else None, str(error))


def try_form(form: forms.Form, act: Callable[[], HttpResponse | None]) -> HttpResponse | None:
    """What `act` answers, if the form was sent and is valid; None if not, or if a service refuses, which the form shows."""
    if not form.is_valid():
        return None
    try:
        return act()
    except LociError as refusal:
        show_error(form, refusal)
        _offer_vouching(form, refusal)
        return None


VOUCHED: Final = "vouched"
_GUESSED: Final = tuple(name for name, kind in KINDS.items() if kind.family is Family.GUESSED)


def _offer_vouching(form: forms.Form, refusal: LociError) -> None:
    """Add the box to the form if the refusal names guessed kinds that the sender may allow."""
    if isinstance(refusal, SensitiveText) and refusal.may_allow:
        form.fields[VOUCHED] = forms.BooleanField(
            required=False,
            label=gettext("It holds no password or key"),
            help_text=gettext(
                "The check guesses from the words around a value. Tick this if it is wrong, and save again."
            ),
        )


def vouched_kinds(form: forms.Form) -> tuple[str, ...]:
    """The guessed kinds that the person vouches for."""
    return _GUESSED if form.data.get(VOUCHED) else ()
