"""What every response gets: its Content-Security-Policy, and the language and time zone of the person.

The policy: no foreign origins, no inline scripts, no frames. Admin pages need two exceptions for unfold: Alpine compiles attributes of its markup ('unsafe-eval'), and colours and
sizes are inline styles (style-src 'unsafe-inline'). Inline scripts stay forbidden, so stored text that a bug of ours
turned into markup still could not run. Language and zone: as the account says, else the browser, else English and UTC.
"""

from collections.abc import Awaitable, Callable, Iterator
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

Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
HEADER = "Content-Security-Policy"
_ZONE_COOKIE = "loci_zone"  # set by zone.js
DATA = "default-src 'none'; frame-ancestors 'none'"
_PAGE = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'{targets}; frame-ancestors 'none'"
)
# Pages under these paths use unfold.
_UNFOLD_PATHS = ("/admin/", "/oauth/")


def policy_of(request: HttpRequest, response: HttpResponseBase) -> str:
    """The policy for a response: that of a page if it is HTML, else one that loads nothing."""
    if not response.get("Content-Type", "").startswith("text/html"):
        return DATA
    scripts = " 'unsafe-eval'" if request.path.startswith(_UNFOLD_PATHS) else ""
    # The consent page's form redirects to the requesting program; browsers count that as the form's target.
    target = getattr(response, "loci_form_targets", "")
    return _PAGE.format(scripts=scripts, targets=f" {target}" if target else "")


@sync_and_async_middleware
def content_policy(get_response: Handler) -> Handler:
    """Middleware that adds the policy; inside the event loop it needs no thread."""
    if iscoroutinefunction(get_response):

        async def answer_in_loop(request: HttpRequest) -> HttpResponseBase:
            return _add_policy(request, await get_response(request))

        return answer_in_loop

    def answer(request: HttpRequest) -> HttpResponseBase:
        return _add_policy(request, get_response(request))  # type: ignore[arg-type]

    return answer


def _add_policy(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Set the policy's header, unless the view has set its own."""
    response.headers.setdefault(HEADER, policy_of(request, response))
    return response


# Programs read these: their answers are English and their times UTC, whoever asks.
_MACHINE_PATHS = ("/api/", "/mcp", "/hooks/", "/health", "/metrics", "/static/", "/.well-known/")


@sync_and_async_middleware
def page_language(get_response: Handler) -> Handler:
    """Middleware that makes language and zone active while a page is made; other requests pass untouched."""
    if iscoroutinefunction(get_response):

        async def answer_in_loop(request: HttpRequest) -> HttpResponseBase:
            if request.path.startswith(_MACHINE_PATHS):
                untouched: HttpResponseBase = await get_response(request)
                return untouched
            # The session and the user are rows: reading them in the loop would block it.
            preference = await sync_to_async(_preference_of_request)(request)
            with _as_preferred(request, preference) as language:
                return _add_language(await get_response(request), language)

        return answer_in_loop

    def answer(request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if request.path.startswith(_MACHINE_PATHS):
            return get_response(request)
        with _as_preferred(request, _preference_of_request(request)) as language:
            return _add_language(get_response(request), language)  # type: ignore[arg-type]

    return answer


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
    language = language_of(request, preference)
    of_browser = request.COOKIES.get(_ZONE_COOKIE, "")
    request.LANGUAGE_CODE = language  # as Django's own middleware does
    with translation.override(language), timezone.override(zone_of(preference, of_browser)):
        yield language


def _add_language(response: HttpResponseBase, language: str) -> HttpResponseBase:
    """Set the headers that tell caches and browsers of the language."""
    response.headers.setdefault("Content-Language", language)
    patch_vary_headers(response, ("Accept-Language",))
    return response
