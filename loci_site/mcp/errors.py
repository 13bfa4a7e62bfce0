"""Errors as an agent reads them: a sentence, what to do next, and a code; never a traceback."""

import logging
import secrets
from typing import NoReturn

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from access.errors import LociError
from loci_site.mcp.arguments import as_invalid_input

logger = logging.getLogger(__name__)


def said(error: LociError) -> str:
    """Give an error as one text; what is no valid Unicode in it is spelt out."""
    field = f", {error.field}" if error.field else ""
    return f"{error} [{error.code}{field}]".encode("utf-8", "backslashreplace").decode()


def reason_of(fault: BaseException) -> LociError | None:
    """Give the domain's error behind what the SDK made of it; None for a fault of ours."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, LociError):
            return cause
        if isinstance(cause, ValidationError):
            return as_invalid_input(cause)
        cause = cause.__cause__
    return None


def explain(fault: Exception, *, what: str) -> str:
    """Give the text of a failure. One of ours is logged under the short reference that the text names."""
    reason = reason_of(fault)
    if reason is not None:
        return said(reason)
    reference = secrets.token_hex(4)
    logger.error("%s failed, reference %s", what, reference, exc_info=fault)
    return f"{what} failed inside Loci. The server's log has it under the reference {reference}. [error]"


def refuse(error: LociError) -> NoReturn:
    """Raise what the SDK shows to the agent as it stands."""
    raise ToolError(said(error))
