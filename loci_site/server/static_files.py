"""Static files straight from the packages, served in the event loop and to the test client alike.

WhiteNoise's own middleware is synchronous: under ASGI its responses are iterators that need a thread (Django warns of
each), and every asynchronous view behind it runs through a thread.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]

# The files found, by the settings that determine their addresses and headers. Packages do not change while a process runs,
# and scanning the two hundred files takes longer than most requests.
_FILES_BY_SETTINGS: dict[tuple[str, int | None, bool], dict[str, StaticFile]] = {}


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # WhiteNoise has no types
    """Serves static files and passes every other request on without a change of thread."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Handler) -> None:
        super().__init__(get_response)
        self.in_event_loop = iscoroutinefunction(get_response)
        if self.in_event_loop:
            markcoroutinefunction(self)

    def add_files_from_finders(self) -> None:
        """Scan the packages once per process, although each test client has a handler of its own."""
        key = (self.static_prefix, self.max_age, self.allow_all_origins)
        if key not in _FILES_BY_SETTINGS:
            super().add_files_from_finders()
            _FILES_BY_SETTINGS[key] = dict(self.files)
        self.files.update(_FILES_BY_SETTINGS[key])

    def __call__(self, request: HttpRequest) -> Any:
        """The response, or inside the event loop a coroutine that returns it."""
        return self._answer_in_loop(request) if self.in_event_loop else super().__call__(request)

    async def _answer_in_loop(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        static_file = self.find_file(path) if self.autorefresh else self.files.get(path)
        if static_file is None:
            response: HttpResponseBase = await self.get_response(request)
            return response
        return await asyncio.to_thread(self.serve, static_file, request)

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """The response with the whole file in memory: the largest one that Loci serves has 0.5 MB."""
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file as file:
                body = file.read()
        response = HttpResponse(body, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response
