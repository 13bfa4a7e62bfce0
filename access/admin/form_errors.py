"""Errors of services, shown in the form that caused them."""

from django import forms

from access.errors import LociError


def show_error(form: forms.Form, error: LociError) -> None:
    """Show the error beside its field, or above the form if the field is not visible."""
    visible = {field.name for field in form.visible_fields()}
    form.add_error(error.field if error.field in visible else None, str(error))
