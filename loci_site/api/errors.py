"""What goes wrong, always as {code, message, hint} and `field` where one value is at fault."""

import logging
import secrets
from collections.abc import Mapping
from typing import Any

from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja.errors import AuthenticationError, HttpError, ValidationError

from access.errors import InvalidInput, LociError, NotAuthenticated, NotFound, TooManyAttempts, Unavailable
from loci_site.api.responses import answer
from loci_site.config.keys import nearest

logger = logging.getLogger(__name__)
DOCS_HINT = "GET /api/docs lists every address."


class Malformed(LociError):
    """The request cannot be read: no JSON, or not what its headers say."""

    code = "malformed"
    status = 400


class MethodNotAllowed(LociError):
    """The address does not know this method; the header `Allow` has those that it knows."""

    code = "method_not_allowed"
    status = 405


class Refused(LociError):
    """The text may not be stored: it was retracted, purged, rejected or quarantined here before."""

    code = "refused"
    status = 409


class CsrfMissing(LociError):
    """A browser's session wants to change something without the page's CSRF token."""

    code = "csrf_missing"
    status = 403


class Internal(LociError):
    """Something broke inside; the log has the details under the reference that the answer names."""

    code = "internal"
    status = 500


def fault_answer(fault: LociError) -> HttpResponse:
    """Give the response of an error."""
    response = answer(fault.as_dict(), status=fault.status)
    if isinstance(fault, NotAuthenticated):
        response["WWW-Authenticate"] = 'Bearer realm="loci"'
    if isinstance(fault, TooManyAttempts):
        response["Retry-After"] = str(fault.wait_s)
    return response


def answer_fault(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """Give the response of anything that was raised; what nobody foresaw is logged under a reference."""
    fault = as_fault(error)
    if fault is None:
        fault = _logged(request, error)
    return fault_answer(fault)


def as_fault(error: object) -> LociError | None:
    """Give the LociError that says what an expected exception means; None for one that nobody foresaw."""
    match error:
        case LociError():
            return error
        case ValidationError():
            return _invalid(error.errors)
        case AuthenticationError():
            return NotAuthenticated(
                "A token is needed.",
                hint="Send 'Authorization: Bearer loci_…'. 'loci token create' makes a token.",
            )
        case HttpError(status_code=400):
            return Malformed("The body is not JSON.", hint="Send JSON in UTF-8.")
        case Http404():
            return NotFound("There is nothing at this address.", hint=DOCS_HINT)
    return None


def _logged(request: HttpRequest, error: Exception | type[Exception]) -> LociError:
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
            "The database did not answer.", hint=f"Try again; the log has more under {reference}."
        )
    return Internal("Something broke.", hint=f"Whoever runs Loci finds it in the log under {reference}.")


def _invalid(errors: list[dict[str, Any]]) -> LociError:
    """Say what is wrong with the first value at fault, and name the others."""
    first = errors[0]
    field = _field(first)
    message, hint = _sentence(first, field)
    others = sorted({_field(other) for other in errors[1:]} - {field, ""})
    if others:
        hint = f"{hint} Also wrong: {', '.join(others)}.".strip()
    return InvalidInput(message, hint=hint, field=field)


def _field(error: Mapping[str, Any]) -> str:
    """Give the name of the value at fault: where it came from and the parameter's own name say nothing."""
    path = [part for part in error["loc"] if isinstance(part, str)]
    inside_body = path[2:] if path[:1] == ["body"] else path[1:]
    return inside_body[0][:80] if inside_body else ""


def _sentence(error: Mapping[str, Any], field: str) -> tuple[str, str]:
    context = error.get("ctx", {})
    match error["type"]:
        case "missing" if field:
            return f"'{field}' is missing.", ""
        case "missing":
            return "The body is missing.", "Send a JSON object."
        case "model_attributes_type" | "model_type" | "dict_type" if not field:
            return "The body is no JSON object.", "Send a JSON object."
        case "extra_forbidden":
            return f"'{field}' is not known here.", nearest(field, context.get("known", ())) or DOCS_HINT
        case "literal_error" | "enum":
            return f"'{field}' is not allowed.", f"Use one of: {context['expected']}."
        case "value_error":
            return f"'{field}': {context.get('error', 'not allowed')}", ""
    return f"'{field}': {error['msg'][:1].lower()}{error['msg'][1:]}.", ""
