"""A small MCP server behind the bridge, in the product's settings; import `signals`, `view` and `site`."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pytest_django import Settings

from loci_site.mcp.transports.django_view import lowlevel_server, serve_mcp
from tests.loci_site.mcp.wire import HOST

LIMIT = 2048  # bytes, for these tests

caller: ContextVar[str] = ContextVar("caller", default="nobody")


@dataclass
class Signals:
    """What the slow tool and its test tell each other."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)


def build_server(signals: Signals) -> MCPServer:
    server = MCPServer("bridge-tests", version="1", log_level="WARNING")

    @server.tool(structured_output=False)
    async def echo(text: str) -> str:
        return text

    @server.tool(structured_output=False)
    async def whoami(ctx: Context) -> str:
        return caller.get()

    @server.tool(structured_output=False)
    async def count(ctx: Context) -> str:
        for step in (1, 2, 3):
            await ctx.report_progress(step, 3)
        return "counted"

    @server.tool(structured_output=False)
    async def crash() -> str:
        raise RuntimeError("the password is swordfish")

    @server.tool(structured_output=False)
    async def refuse() -> str:
        raise ToolError("No such group. Name another one.")

    @server.tool(structured_output=False)
    async def wait(ctx: Context) -> str:
        await ctx.report_progress(1, 2)
        signals.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            signals.cancelled.set()
            raise
        return "never"

    return server


@pytest.fixture
def signals() -> Signals:
    return Signals()


@pytest.fixture
def view(signals: Signals) -> Callable[[HttpRequest], Any]:
    """A view like the product's: it finds the caller, then passes the request on."""
    server = lowlevel_server(build_server(signals))

    @csrf_exempt
    async def mcp_view(request: HttpRequest) -> HttpResponseBase:
        token = caller.set(request.headers.get("Authorization", "nobody"))
        try:
            return await serve_mcp(request, server)
        finally:
            caller.reset(token)

    return mcp_view


@pytest.fixture(autouse=True)
def site(settings: Settings, view: Callable[[HttpRequest], Any], tmp_path: Path) -> Settings:
    """The product's settings and middleware, with /mcp and little patience for large bodies."""
    settings.ROOT_URLCONF = (path("mcp", view),)
    settings.ALLOWED_HOSTS = [HOST]
    settings.STATIC_ROOT = str(tmp_path)
    settings.WHITENOISE_USE_FINDERS = False  # each client would read all static files
    settings.LOCI = replace(
        settings.LOCI,
        server=replace(settings.LOCI.server, max_body_bytes=LIMIT, allowed_origins=("https://app.example",)),
    )
    return settings
