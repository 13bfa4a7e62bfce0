"""Ninja's application, adapted: each request is one database job, writes take an Idempotency-Key, errors have one form."""

import json
from collections.abc import Callable
from functools import cache, wraps
from http.client import responses as STATUS_WORDS
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, path, re_path, reverse
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.errors import ValidationError
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic import BaseModel

from access.errors import InvalidInput, NotFound, TooLarge
from access.tokens.stored_answers import KeyedWrite
from loci_site.api.auth import actor_of, is_reading
from loci_site.api.responses import DOCS_HINT, REPLAY_HEADER, MethodNotAllowed, answer, error_response
from loci_site.api.schemas.answers import ERROR_STATUSES, ErrorOut
from loci_site.config.keys import suggest
from loci_site.server.db_threads import in_db_thread, in_write_thread
from loci_site.server.write_once import WrittenAnswer, write_once

View = Callable[..., HttpResponseBase]


class RestAPI(NinjaAPI):
    """Ninja's API with each request as one job in a database thread, and errors of one form."""

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        views = [view for router in self._get_bound_routers() for view in router.path_operations.values()]
        for operation in (operation for view in views for operation in view.operations):
            operation.run = _refuse_unknown_parameters(operation)  # type: ignore[method-assign]
            operation.view_func = _takes_key(operation.view_func)
        patterns = super()._get_urls()
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                pattern.callback = _run_in_db_thread(pattern.callback)
        root = path("", _run_in_db_thread(_redirect_to_docs), name="api-root")
        patterns = [p for p in patterns if getattr(p, "name", "") != "api-root"]
        return [*patterns, root, re_path(r"^.*$", _run_in_db_thread(_answer_unknown_address))]

    def validation_error_from_error_contexts(self, error_contexts: list[Any]) -> ValidationError:
        """The errors of wrong values, each with the schemas of all values of its request: hints name what is allowed."""
        found = super().validation_error_from_error_contexts(error_contexts)
        fields = {
            name: each for context in error_contexts for name, each in _fields_of(context.model).items()
        }
        for error in found.errors:
            error["fields"] = fields
        return found

    def get_openapi_operation_id(self, operation: Any) -> str:
        """The name of the view, which is unique; generated clients derive their names from it."""
        return str(operation.view_func.__name__)

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """The OpenAPI document, generated once per process."""
        if not hasattr(self, "_document"):
            self._document = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
            self._document["components"]["schemas"][ErrorOut.__name__] = ErrorOut.model_json_schema()
            for address, operations in self._document["paths"].items():
                for method, operation in operations.items():
                    operation["responses"] |= _ERRORS
                    if method != "get" and not address.endswith("/recall"):
                        operation.setdefault("parameters", []).append(_PARAMETER)
        return self._document


@cache
def _fields_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schemas of a request's values by name; those of a model in it stand for themselves."""
    schema = model.model_json_schema()
    fields: dict[str, Any] = {}
    for name, each in schema["properties"].items():
        target = each.get("$ref", "").rpartition("/")[2]
        fields |= schema["$defs"][target]["properties"] if target else {name: each}
    return fields


def _refuse_unknown_parameters(operation: Operation) -> View:
    """The operation's run() with a check that refuses unknown query parameters: a misspelt filter never widens an answer."""
    inner = operation.run
    known = sorted(
        {
            name
            for model in operation.models
            if model.__ninja_param_source__ == "query"
            for name in getattr(model, "__ninja_flatten_map__", {})
        }
    )

    def run(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        try:
            names = list(request.GET)
        except TooManyFieldsSent:
            limit = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
            return error_response(
                TooLarge(f"The address has more than {limit:,} parameters.", hint="Send fewer.")
            )
        for name in names:
            if name not in known:
                message = f"'{name[:80]}' is not a parameter of this address."
                hint = suggest(name, known) or (
                    f"The parameters are {', '.join(known)}." if known else "It has no query parameters."
                )
                return error_response(InvalidInput(message, hint=hint, field=name[:80]))
        return inner(request, **kwargs)

    return run


def _run_in_db_thread(view: View) -> Callable[..., Any]:
    """Run a whole synchronous view in one database thread: one thread switch, and a persistent connection."""

    def run(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if _is_too_large(request):
            limit = settings.LOCI.server.max_body_bytes
            return error_response(
                TooLarge(f"The request is larger than {limit:,} bytes.", hint="Send it in parts.")
            )
        response = view(request, *args, **kwargs)
        if response.status_code != 405:
            return response
        allowed = ", ".join(sorted(part.strip() for part in response["Allow"].split(",")))
        refusal = error_response(
            MethodNotAllowed(f"This address has no {request.method}.", hint=f"Use {allowed}.")
        )
        refusal["Allow"] = allowed
        return refusal

    read, write = in_db_thread(run), in_write_thread(run)

    async def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return await (read if is_reading(request) else write)(request, *args, **kwargs)

    return csrf_exempt(answer)


def _redirect_to_docs(request: HttpRequest) -> HttpResponseBase:
    return HttpResponseRedirect(reverse("rest:openapi-view"))


def _answer_unknown_address(request: HttpRequest) -> HttpResponseBase:
    return error_response(NotFound(f"There is nothing at {request.path[:200]}.", hint=DOCS_HINT))


def _is_too_large(request: HttpRequest) -> bool:
    """True if the body exceeds the limit. Reads it before Django parses it as a form, unless its length says enough."""
    limit = settings.LOCI.server.max_body_bytes
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isascii() and length.isdecimal() and int(length[:18]) > limit:
        return True
    try:
        return len(request.body) > limit
    except RequestDataTooBig:
        return True


# Every operation may answer these. Ninja would make a model for each status of each operation: seven hundred models, a
# tenth of the time in which a server starts.
_ERRORS: Final = {
    status: {
        "description": STATUS_WORDS[status],
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorOut.__name__}"}}},
    }
    for status in ERROR_STATUSES
}
_KEY_HEADER: Final = "Idempotency-Key"
_PARAMETER: Final = {
    "in": "header",
    "name": _KEY_HEADER,
    "required": False,
    "description": "A new UUID for each write; a retry with the same key and body gets the first answer for 24 hours.",
    "schema": {"type": "string", "maxLength": 200},
}


def _takes_key(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The view of an operation that writes, with its log rows collected, and carried out once for each key."""

    @wraps(view)
    def run(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_reading(request):
            return view(request, *args, **kwargs)
        responses: list[HttpResponse] = []
        write = _keyed_write(request)

        def job() -> WrittenAnswer:
            response = view(request, *args, **kwargs)
            # Only a write with a key is stored, so only that one is read again.
            body = json.loads(response.content) if write is not None else None
            responses.append(response)
            return WrittenAnswer(response.status_code, body)

        # A purge and maintenance have transactions of their own.
        is_purge = request.path.endswith("/purge") or request.GET.get("verb") == "purge"
        is_one = not is_purge and "/maintenance/" not in request.path
        done = write_once(actor_of(request), write, job, in_one_transaction=is_one)
        if not done.is_replay:
            return responses[-1]
        replay = answer(done.body, status=done.status)
        replay[REPLAY_HEADER] = "true"
        return replay

    return run


def _keyed_write(request: HttpRequest) -> KeyedWrite | None:
    """The key of a request, with what it stands for; None without one."""
    key = request.headers.get(_KEY_HEADER)
    if key is None:
        return None
    try:
        body: Any = json.loads(request.body) if request.body else None
    except (ValueError, RecursionError):
        body = request.body.hex()
    return KeyedWrite(key, [request.method, request.get_full_path(), body], _KEY_HEADER)
