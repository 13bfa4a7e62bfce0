"""The page for an error that no view has handled."""

import sys

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template import loader
from django.utils.translation import gettext
from django.views.defaults import server_error as plain_server_error

from access.errors import StorageFull, as_storage_error


def server_error(request: HttpRequest) -> HttpResponseBase:
    """The page "Something went wrong", or the reason if the disk or the database failed."""
    error = as_storage_error(sys.exc_info()[1])
    if error is None:
        return plain_server_error(request)
    # Without the request: its session and its user are in the database.
    title = gettext("Not saved") if isinstance(error, StorageFull) else gettext("Not available")
    page = loader.render_to_string("507.html", {"title": title, "message": error.message, "hint": error.hint})
    return HttpResponse(page, status=error.status)
