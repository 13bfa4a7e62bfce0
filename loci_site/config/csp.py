"""The Content-Security-Policy of each answer: nothing from elsewhere, no inline script, no frame.

Pages of the admin need two concessions to unfold. Alpine compiles the attributes of its markup, which takes
'unsafe-eval'; colours and sizes stand in inline styles, which takes style-src 'unsafe-inline'. Inline scripts stay
forbidden, so text that became markup by a fault of ours would still not run.
"""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
HEADER = "Content-Security-Policy"
DATA = "default-src 'none'; frame-ancestors 'none'"
_PAGE = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'{targets}; frame-ancestors 'none'"
)
# Below these stand pages made with unfold.
UNFOLD_PATHS = ("/admin/", "/oauth/")


def policy_of(request: HttpRequest, response: HttpResponseBase) -> str:
    """Give the policy of an answer: of a page where it is HTML, else that nothing may be loaded at all."""
    if not response.get("Content-Type", "").startswith("text/html"):
        return DATA
    scripts = " 'unsafe-eval'" if request.path.startswith(UNFOLD_PATHS) else ""
    # The consent page's form ends at the program that asked; browsers count that as the form's target.
    target = getattr(response, "loci_form_targets", "")
    return _PAGE.format(scripts=scripts, targets=f" {target}" if target else "")


@sync_and_async_middleware
def content_policy(get_response: Handler) -> Handler:
    """Give the middleware; in the event loop it takes no hop to a thread."""
    if iscoroutinefunction(get_response):

        async def answer_in_loop(request: HttpRequest) -> HttpResponseBase:
            return _with_policy(request, await get_response(request))

        return answer_in_loop

    def answer(request: HttpRequest) -> HttpResponseBase:
        return _with_policy(request, get_response(request))  # type: ignore[arg-type]

    return answer


def _with_policy(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    response.headers.setdefault(HEADER, policy_of(request, response))
    return response
