"""The Content-Security-Policy of each response: no foreign origins, no inline scripts, no frames.

Admin pages need two exceptions for unfold: Alpine compiles attributes of its markup ('unsafe-eval'), and colours and
sizes are inline styles (style-src 'unsafe-inline'). Inline scripts stay forbidden, so stored text that a bug of ours
turned into markup still could not run.
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
