"""The fixture server behind Loci's bridge: `uvicorn bench.conformance.asgi:application`. It asks for no token, and uses no database."""

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import path

from loci_site import settings as own

# What the suite gets wrong on purpose is no news.
quiet = {name: {"level": "CRITICAL"} for name in ("django.request", "django.security", "mcp")}
others = {
    "ROOT_URLCONF": __name__,
    "MIDDLEWARE": [],
    "LOGGING": {"version": 1, "disable_existing_loggers": False, "loggers": quiet},
}
settings.configure(**{name: getattr(own, name) for name in dir(own) if name.isupper()} | others)
application = get_asgi_application()

from mcp.server.mcpserver import MCPServer  # noqa: E402 - after Django is set up

from bench.conformance.contents import add_prompts, add_resources, add_running_tools, add_tools, schema_tool  # noqa: E402
from bench.conformance.questions import add_capabilities, add_questions, add_states  # noqa: E402
from loci_site.mcp.transports.django_view import lowlevel_server, serve_mcp  # noqa: E402

fixture = MCPServer("loci-conformance", version="1.0.0", log_level="WARNING", tools=[schema_tool()])
for add in (
    *(add_tools, add_running_tools, add_resources, add_prompts),
    *(add_questions, add_states, add_capabilities),
):
    add(fixture)
server = lowlevel_server(fixture)


async def mcp(request: HttpRequest) -> HttpResponseBase:
    return await serve_mcp(request, server)


urlpatterns = [path("mcp", mcp)]
