"""The REST application: routes, authentication and OpenAPI document."""

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from ninja import NinjaAPI, Swagger
from ninja.errors import HttpError, ValidationError

from loci_site import __version__
from loci_site.api import (
    artifacts,
    captures,
    conversations,
    curation,
    groups,
    maintenance,
    memories,
    recall,
    relations,
)
from loci_site.api.auth import Session, Token
from loci_site.api.ninja_site import RestAPI
from loci_site.api.responses import answer_error

_DESCRIPTION = """\
Long-term memory that a team's AI agents share and its people curate.

Every error is `{code, message, hint}`, plus `field` if one value is wrong. Lists have `items` and `next`; pass `next` as
`cursor` for the next page. A write takes the header `Idempotency-Key`: sent again with the same key and body within 24
hours, it gets the first answer with `Idempotent-Replay: true`. Its answer holds `undo`, which POST /undo takes for 24 hours. Timestamps are ISO 8601; without a zone they are UTC.
"""


class _DocsPage(Swagger):
    """The description of the API in a page of Loci's, which also goes dark and fits a phone, with ninja's own files.

    As ninja is not an installed app, it would load them from a CDN.
    """

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        """The page, whose script reads the settings."""
        document = self.get_openapi_url(api, kwargs)
        context = {
            "heading": "Loci REST API",  # in English, as all that it describes
            "swagger_settings": json.dumps(self.settings | {"url": document}),
            "api": api,
            "add_csrf": True,
        }
        return render(request, "api/docs.html", context)


def _build_api() -> NinjaAPI:
    application = RestAPI(
        title="Loci",
        version=__version__,
        description=_DESCRIPTION,
        urls_namespace="rest",
        auth=[Token(), Session()],
        # Without validatorUrl, the page may ask a public service to check the document.
        docs=_DocsPage(
            settings={
                "validatorUrl": None,
                "docExpansion": "none",
                "defaultModelsExpandDepth": -1,
                "filter": True,
            }
        ),
    )
    for kind in (Exception, Http404, HttpError, ValidationError):
        application.add_exception_handler(kind, answer_error)
    # Before the route of all other verbs, which matches any word.
    application.add_router("/memories", curation.deciding)
    application.add_router("/memories", memories.router)
    for routes in (recall, captures, conversations, relations, groups, curation, maintenance, artifacts):
        application.add_router("", routes.router)
    return application


api = _build_api()
