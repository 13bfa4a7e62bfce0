"""What a service refuses, shown in the form that asked for it."""

from django import forms

from access.errors import LociError


def show_error(form: forms.Form, refusal: LociError) -> None:
    """Put a refusal beside the field at fault, or on top where that is none that one sees."""
    seen = {field.name for field in form.visible_fields()}
    form.add_error(refusal.field if refusal.field in seen else None, str(refusal))
