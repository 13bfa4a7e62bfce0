"""The REST application as it is mounted: its routes, callers and documents."""

from django.http import Http404
from ninja import NinjaAPI, Swagger
from ninja.errors import HttpError, ValidationError
from ninja.openapi.docs import ABS_TPL_PATH

from loci_site import __version__
from loci_site.api import curation as curation_routes
from loci_site.api import groups as group_routes
from loci_site.api import maintenance as maintenance_routes
from loci_site.api import memories as memory_routes
from loci_site.api import recall as recall_routes
from loci_site.api import relations as relation_routes
from loci_site.api import suggest as suggest_routes
from loci_site.api.auth import BearerToken, SessionCookie
from loci_site.api.errors import answer_fault
from loci_site.api.ninja_site import RestAPI

DESCRIPTION = """\
Long-term memory that a team's AI agents share and its people curate.

Every error is `{code, message, hint}`, with `field` where one value is at fault. Lists give `items` and `next`; pass
`next` as `cursor` to read on. Moments are ISO 8601; no zone means UTC.
"""


class DocsPage(Swagger):
    """The page of the documents with the files that ninja brings: where it is no app, it would ask another machine."""

    template_cdn = str(ABS_TPL_PATH / "swagger.html")


def build_api() -> NinjaAPI:
    """Give the application with all its routes."""
    made = RestAPI(
        title="Loci",
        version=__version__,
        description=DESCRIPTION,
        urls_namespace="rest",
        auth=[BearerToken(), SessionCookie()],
        # validatorUrl: else the page may ask a public service to check the document.
        docs=DocsPage(settings={"validatorUrl": None}),
    )
    for kind in (Exception, Http404, HttpError, ValidationError):
        made.add_exception_handler(kind, answer_fault)
    # Before the route of all other verbs, which takes any word in their place.
    made.add_router("/memories", curation_routes.deciding)
    made.add_router("/memories", memory_routes.router)
    for routes in (
        recall_routes,
        suggest_routes,
        relation_routes,
        group_routes,
        curation_routes,
        maintenance_routes,
    ):
        made.add_router("", routes.router)
    return made


api = build_api()
