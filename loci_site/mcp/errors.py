"""Errors as text for an agent: a sentence, what to do next, and a code; never a traceback."""

import logging
import secrets
from typing import NoReturn

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from access.errors import LociError, StorageFull, as_storage_error
from loci_site.mcp.arguments import describe_validation
from memories.queries.quoting import escape
from storage.faults import is_unreachable

logger = logging.getLogger(__name__)


def error_text(error: LociError) -> str:
    """The error as one line of text; invalid Unicode and marks of ours in it are escaped."""
    field = f", {error.field}" if error.field else ""
    return escape(f"{error} [{error.code}{field}]").encode("utf-8", "backslashreplace").decode()


def find_domain_error(error: BaseException) -> LociError | None:
    """Loci's error in the chain of causes of an SDK exception, or the fault of the disk; None for an unexpected one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, LociError):
            return cause
        if isinstance(cause, ValidationError):
            return describe_validation(cause)
        cause = cause.__cause__
    return as_storage_error(error)


def explain_failure(error: Exception, *, what: str) -> str:
    """The text of a failure; an unexpected one is logged under a short reference that the text names."""
    reason = find_domain_error(error)
    if isinstance(reason, StorageFull):
        logger.error("%s failed: %s", what, reason.fault, exc_info=error)
    elif is_unreachable(error):
        logger.warning("%s failed: the database does not answer", what)
    if reason is not None:
        return error_text(reason)
    reference = secrets.token_hex(4)
    logger.error("%s failed, reference %s", what, reference, exc_info=error)
    return (
        f"{what} failed inside Loci. Details are in the server's log under the reference {reference}. [error]"
    )


def raise_tool_error(error: LociError) -> NoReturn:
    """Raise the error in the form that the SDK passes on to the agent unchanged."""
    raise ToolError(error_text(error))
