"""A select among many: a field with suggestions, which the browser narrows as one types."""

from typing import Any

from django.template.loader import render_to_string
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

_FEW = 12  # choices


class SearchedSelect(UnfoldAdminSelectWidget):  # type: ignore[misc]  # unfold has no types
    """Unfold's select; among many, a text field with suggestions. Its values must be words that people can type."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> str:
        if len(list(self.choices)) <= _FEW:
            return str(super().render(name, value, attrs, renderer))
        context = self.get_context(name, value, attrs)
        context["widget"]["attrs"]["class"] = UnfoldAdminTextInputWidget().attrs["class"]
        return render_to_string("admin/loci/searched_select.html", context)
