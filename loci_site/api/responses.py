"""Responses of the REST API: answers as JSON, and errors, always {code, message, hint} plus `field` if one value is wrong."""

import json
import logging
import secrets
from collections.abc import Mapping
from typing import Any

from django.db import DataError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja.errors import AuthenticationError, HttpError, ValidationError

from access.actor import Actor
from access.audit import current_work
from access.errors import (
    InFlight,
    InvalidInput,
    LociError,
    NotAuthenticated,
    NotFound,
    TooManyAttempts,
    Unavailable,
    as_storage_error,
)
from access.groups.guarding import safe_error
from loci_site.config.keys import suggest
from loci_site.server.write_once import ReplayedError
from memories.browse.serializers import DoneOut
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.undo import undo_id_of

REPLAY_HEADER = "Idempotent-Replay"


def answer(body: Any, *, status: int = 200) -> HttpResponse:
    """A JSON response in UTF-8, never cached; a lone surrogate in an echoed value becomes a question mark."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    response = HttpResponse(text.encode(errors="replace"), status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def answer_write(actor: Actor, body: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """The result of a write, with the id that undoes it (null if nothing was written, or it cannot be undone)."""
    is_tried = bool(body.get("dry_run"))
    return answer(
        body | {"undo": None if is_tried else undo_id_of(actor, current_work()) or None}, status=status
    )


def answer_change(actor: Actor, done: ChangeResult) -> HttpResponse:
    """The result of a verb: 200 if it was carried out or only tried, 202 if it waits as a proposal."""
    return answer_write(actor, DoneOut.json(done), status=202 if done.proposal is not None else 200)


logger = logging.getLogger(__name__)
DOCS_HINT = "GET /api/docs lists every address."


class _Malformed(LociError):
    """The request cannot be parsed: it is not JSON, or contradicts its headers."""

    code = "malformed"
    status = 400


class MethodNotAllowed(LociError):
    """The address does not support this method; the header `Allow` lists those that it supports."""

    code = "method_not_allowed"
    status = 405


class Refused(LociError):
    """The text may not be stored: it was withdrawn or quarantined in this group, or withdrawn for all groups."""

    code = "refused"
    status = 409


class CsrfMissing(LociError):
    """A request of a browser session that changes something lacks the page's CSRF token."""

    code = "csrf_missing"
    status = 403


class _Internal(LociError):
    """An unexpected error; the server's log has the details under the reference in the hint."""

    code = "internal"
    status = 500


def error_response(error: LociError) -> HttpResponse:
    """The response of an error, with the headers that its kind requires; what it quotes is masked as for agents."""
    response = answer(safe_error(error), status=error.status)
    if isinstance(error, NotAuthenticated):
        response["WWW-Authenticate"] = 'Bearer realm="loci"'
    if isinstance(error, TooManyAttempts | InFlight):
        response["Retry-After"] = str(error.wait_s)
    if isinstance(error, ReplayedError):
        response[REPLAY_HEADER] = "true"
    return response


def answer_error(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """The response of any exception; unexpected ones are logged under a reference."""
    return error_response(_as_loci_error(error) or _log_unexpected(request, error))


def _as_loci_error(error: object) -> LociError | None:
    """The LociError for an expected exception; None for an unexpected one."""
    match error:
        case LociError():
            return error
        case ValidationError():
            return describe_validation(error.errors)
        case AuthenticationError():
            return NotAuthenticated(
                "A token is needed.",
                hint="Send 'Authorization: Bearer loci_…'. 'loci token create' makes a token.",
            )
        case HttpError(status_code=400):
            return _Malformed("The body is not JSON.", hint="Send JSON in UTF-8.")
        case DataError() if "NUL" in str(error):  # PostgreSQL takes none, not even in a condition
            return InvalidInput("A value contains a NUL character.", hint="Send the value without it.")
        case Http404():
            return NotFound("There is nothing at this address.", hint=DOCS_HINT)
    return None


def _log_unexpected(request: HttpRequest, error: Exception | type[Exception]) -> LociError:
    """Log an unexpected exception under a new reference. Returns the error that names it, or the fault of the disk."""
    storage_error = as_storage_error(error) if isinstance(error, Exception) else None
    if storage_error is not None:
        logger.error("%s %s failed: %s", request.method, request.path, error)
        return storage_error
    reference = secrets.token_hex(4)
    logger.error(
        "%s %s failed, reference %s",
        request.method,
        request.path,
        reference,
        exc_info=error if isinstance(error, Exception) else True,
    )
    if isinstance(error, OperationalError):
        return Unavailable(
            "The database did not answer.", hint=f"Try again; details are in the log under {reference}."
        )
    return _Internal(
        "An unexpected error occurred.", hint=f"Details are in the server's log under {reference}."
    )


def describe_validation(errors: list[dict[str, Any]]) -> LociError:
    """The error for the first wrong value; its hint names the other wrong ones."""
    first = errors[0]
    field = _field_of(first)
    # One value that is of none of several types has an error for each.
    same = [each for each in errors if len(each["loc"]) > 2 and each["loc"][:-1] == first["loc"][:-1]]
    if len(same) > 1 and len({_field_of(each) for each in same}) == 1:
        first = first | {"msg": " or ".join([first["msg"], *(_kind_in(each["msg"]) for each in same[1:])])}
    message, hint = _describe_value(first, field)
    others = sorted({_field_of(other) for other in errors[1:]} - {field, ""})
    if others:
        hint = f"{hint} Also wrong: {', '.join(others)}.".strip()
    return InvalidInput(message, hint=hint, field=field)


def _field_of(error: Mapping[str, Any]) -> str:
    """The name of the wrong value, without its source and the name of the view's parameter; empty for the whole body."""
    inside_body = _inside_body(error)
    return str(inside_body[0])[:80] if inside_body else ""


def _inside_body(error: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(error["loc"][2 if error["loc"][:1] == ("body",) else 1 :])


def _kind_in(message: str) -> str:
    """ "a valid string" of "Input should be a valid string"."""
    return message.partition(" should be ")[2] or message


def _describe_value(error: Mapping[str, Any], field: str) -> tuple[str, str]:
    """Message and hint for one of pydantic's errors; its `fields` are the schemas of all values, by name."""
    context, fields = error.get("ctx", {}), error.get("fields", {})
    match error["type"]:
        case "missing" if field:
            return f"'{field}' is missing.", _range_hint(fields.get(field, {})) or "It is required."
        case "missing":
            return "The body is missing.", "Send a JSON object."
        case "model_attributes_type" | "model_type" | "dict_type" if not field:
            return "The body is not a JSON object.", "Send a JSON object."
        case "extra_forbidden":
            return f"'{field}' is not a known field.", suggest(field, fields) or DOCS_HINT
        case "literal_error" | "enum":
            return f"'{field}' is not allowed.", f"Use one of: {context['expected']}."
        case "value_error":
            return f"'{field}': {context.get('error', 'not allowed')}", ""
    name = "".join([field, *(f"[{part}]" for part in _inside_body(error)[1:2] if isinstance(part, int))])
    return f"'{name}': {error['msg'][:1].lower()}{error['msg'][1:]}.", _range_hint(fields.get(field, {}))


def _range_hint(schema: Mapping[str, Any]) -> str:
    """Which numbers a value may be, by its JSON schema; empty if it has no bounds."""
    for kind in (schema, *schema.get("anyOf", ())):
        if "minimum" in kind:
            number = "a whole number" if kind.get("type") == "integer" else "a number"
            most = (
                f"from {kind['minimum']} to {kind['maximum']}"
                if "maximum" in kind
                else f"of at least {kind['minimum']}"
            )
            return f"Send {number} {most}."
    return ""
