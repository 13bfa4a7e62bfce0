"""Errors of services, shown in the form that caused them."""

from collections.abc import Callable
from typing import Final

from django import forms
from django.http import HttpResponse
from django.utils.translation import gettext

from access.errors import LociError, SensitiveText
from guard import KINDS, Family


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


_VOUCHED: Final = "vouched"
GUESSED: Final = tuple(name for name, kind in KINDS.items() if kind.family is Family.GUESSED)


def _offer_vouching(form: forms.Form, refusal: LociError) -> None:
    """Add the box to the form if the refusal names guessed kinds that the sender may allow."""
    if isinstance(refusal, SensitiveText) and refusal.may_allow:
        form.fields[_VOUCHED] = forms.BooleanField(
            required=False,
            label=gettext("It holds no password or key"),
            help_text=gettext(
                "The check guesses from the words around a value. Tick this if it is wrong, and save again."
            ),
        )


def vouched_kinds(form: forms.Form) -> tuple[str, ...]:
    """The guessed kinds that the person vouches for."""
    return GUESSED if form.data.get(_VOUCHED) else ()
