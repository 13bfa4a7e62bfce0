"""The REST application: its routes, its documents, and how a request runs."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, path, re_path, reverse
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from access.errors import InvalidInput, NotFound, TooLarge
from loci_site.api.errors import DOCS_HINT, MethodNotAllowed, fault_answer
from loci_site.config.keys import nearest
from loci_site.server.db_threads import in_db_thread

View = Callable[..., HttpResponseBase]


class RestAPI(NinjaAPI):
    """Ninja's, with each request as one job in a database thread, and errors of one shape."""

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        for operation in self._operations():
            operation.run = knowing_its_query(operation)  # type: ignore[method-assign]
        patterns = super()._get_urls()
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                pattern.callback = as_one_job(pattern.callback)
        root = path("", as_one_job(to_docs), name="api-root")
        patterns = [p for p in patterns if getattr(p, "name", "") != "api-root"]
        return [*patterns, root, re_path(r"^.*$", as_one_job(nothing_here))]

    def _operations(self) -> list[Operation]:
        views = [view for router in self._get_bound_routers() for view in router.path_operations.values()]
        return [operation for view in views for operation in view.operations]

    def get_openapi_operation_id(self, operation: Any) -> str:
        """Give the view's name: it is unique, and clients make their own names from it."""
        return str(operation.view_func.__name__)

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """Give the document, made once: a request only copies it out."""
        if not hasattr(self, "_document"):
            self._document = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
        return self._document


def knowing_its_query(operation: Operation) -> View:
    """Give an operation's run(), which refuses what it does not know in the address: a misspelt filter never widens."""
    inner = operation.run
    maps = [
        getattr(m, "__ninja_flatten_map__", {})
        for m in operation.models
        if m.__ninja_param_source__ == "query"
    ]
    known = sorted({name for names in maps for name in names})

    def run(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        try:
            names = list(request.GET)
        except TooManyFieldsSent:
            limit = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
            return fault_answer(
                TooLarge(f"The address has more than {limit:,} parameters.", hint="Send fewer.")
            )
        for name in names:
            if name not in known:
                said = f"'{name[:80]}' is not known here."
                hint = nearest(name, known) or (
                    f"Known are: {', '.join(known)}." if known else "It takes no query."
                )
                return fault_answer(InvalidInput(said, hint=hint, field=name[:80]))
        return inner(request, **kwargs)

    return run


def as_one_job(view: View) -> Callable[..., Any]:
    """Run a synchronous view whole in one database thread: one hop, and a connection that stays."""

    def run(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if _is_too_large(request):
            limit = settings.LOCI.server.max_body_bytes
            return fault_answer(
                TooLarge(f"The request is larger than {limit:,} bytes.", hint="Send it in parts.")
            )
        response = view(request, *args, **kwargs)
        return _not_allowed(request, response) if response.status_code == 405 else response

    return csrf_exempt(in_db_thread(run))


def to_docs(request: HttpRequest) -> HttpResponseBase:
    """Send a person who looks at /api/ to the page that explains it."""
    return HttpResponseRedirect(reverse("rest:openapi-view"))


def nothing_here(request: HttpRequest) -> HttpResponseBase:
    """Answer an address that there is not."""
    return fault_answer(NotFound(f"There is nothing at {request.path[:200]}.", hint=DOCS_HINT))


def _is_too_large(request: HttpRequest) -> bool:
    """Read the body, before anything else takes it for a form; where it says that it is too large, do not read it."""
    limit = settings.LOCI.server.max_body_bytes
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isascii() and length.isdecimal() and int(length[:18]) > limit:
        return True
    try:
        return len(request.body) > limit
    except RequestDataTooBig:
        return True


def _not_allowed(request: HttpRequest, response: HttpResponseBase) -> HttpResponse:
    allowed = ", ".join(sorted(part.strip() for part in response["Allow"].split(",")))
    fault = fault_answer(MethodNotAllowed(f"{request.method} is not known here.", hint=f"Use {allowed}."))
    fault["Allow"] = allowed
    return fault
