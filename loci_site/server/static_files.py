"""Static files from where the packages keep them, served inside the event loop as well as by the test client.

WhiteNoise's own middleware is synchronous: under the server it hands on an iterator that can only be consumed in a
thread (Django warns of each), and every asynchronous view below it is called through one.
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

# The files found, by the settings that their addresses and headers depend on. What the packages bring stays as it is while
# a process runs, and to look through the two hundred files takes longer than to answer most requests.
_FOUND: dict[tuple[str, int | None, bool], dict[str, StaticFile]] = {}


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # WhiteNoise has no types
    """Answers for static files, hands everything else on without leaving the thread it runs in."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Handler) -> None:
        super().__init__(get_response)
        self.in_event_loop = iscoroutinefunction(get_response)
        if self.in_event_loop:
            markcoroutinefunction(self)

    def add_files_from_finders(self) -> None:
        """Look through the packages once for all handlers of this process: each test client has one of its own."""
        key = (self.static_prefix, self.max_age, self.allow_all_origins)
        if key not in _FOUND:
            super().add_files_from_finders()
            _FOUND[key] = dict(self.files)
        self.files.update(_FOUND[key])

    def __call__(self, request: HttpRequest) -> Any:
        """Give the response, or a coroutine of it inside the event loop."""
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
        """Give the file whole: the largest that Loci serves has half a megabyte."""
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
