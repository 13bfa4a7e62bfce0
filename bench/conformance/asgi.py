"""The fixture server behind Loci's bridge: `uvicorn bench.conformance.asgi:application`."""

import os

from django.core.asgi import get_asgi_application
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import path

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.conformance.settings"
application = get_asgi_application()

from bench.conformance.fixture import build_server  # noqa: E402  Django's settings come first
from loci_site.mcp.transports.django_view import lowlevel_server, serve_mcp  # noqa: E402

server = lowlevel_server(build_server())


async def mcp(request: HttpRequest) -> HttpResponseBase:
    return await serve_mcp(request, server)


urlpatterns = [path("mcp", mcp)]
