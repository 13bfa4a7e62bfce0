"""Language and time zone of the browser's pages: as the account says, else the browser, else English and UTC."""

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.decorators import sync_and_async_middleware

from access.models import Preference
from access.sign_in.preferences import preference_of_user, zone_of
from loci_site.config.csp import Handler

# Programs read these: their answers are English and their times UTC, whoever asks.
_MACHINE_PATHS = ("/api/", "/mcp", "/hooks/", "/health", "/metrics", "/static/", "/.well-known/")


@sync_and_async_middleware
def page_language(get_response: Handler) -> Handler:
    """Middleware that makes language and zone active while a page is made; other requests pass untouched."""
    if iscoroutinefunction(get_response):

        async def answer_in_loop(request: HttpRequest) -> HttpResponseBase:
            if _is_for_machines(request):
                untouched: HttpResponseBase = await get_response(request)
                return untouched
            # The session and the user are rows: reading them in the loop would block it.
            preference = await sync_to_async(_preference_of_request)(request)
            with _as_preferred(request, preference) as language:
                return _add_language(await get_response(request), language)

        return answer_in_loop

    def answer(request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if _is_for_machines(request):
            return get_response(request)
        with _as_preferred(request, _preference_of_request(request)) as language:
            return _add_language(get_response(request), language)  # type: ignore[arg-type]

    return answer


def _is_for_machines(request: HttpRequest) -> bool:
    return request.path.startswith(_MACHINE_PATHS)


def _preference_of_request(request: HttpRequest) -> Preference:
    """The caller's preferences; the defaults for a visitor. No query besides those for session and user."""
    request.loci_preference = preference_of_user(request.user)  # type: ignore[attr-defined]
    return request.loci_preference  # type: ignore[attr-defined, no-any-return]


def language_of(request: HttpRequest, preference: Preference) -> str:
    """The code of the language, one of settings.LANGUAGES."""
    known = dict(settings.LANGUAGES)
    if preference.language in known:
        return preference.language
    return translation.get_language_from_request(request)


@contextmanager
def _as_preferred(request: HttpRequest, preference: Preference) -> Iterator[str]:
    """Activate language and zone, and restore what was active."""
    language = language_of(request, preference)
    request.LANGUAGE_CODE = language  # as Django's own middleware does
    with translation.override(language), timezone.override(zone_of(preference)):
        yield language


def _add_language(response: HttpResponseBase, language: str) -> HttpResponseBase:
    """Set the headers that tell caches and browsers of the language."""
    response.headers.setdefault("Content-Language", language)
    patch_vary_headers(response, ("Accept-Language",))
    return response
