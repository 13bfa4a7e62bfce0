"""How log lines look: one line each, where a traceback would say nothing more."""

import logging


class RefusedHost(logging.Filter):
    """A request for a foreign host name becomes one line that says what to set."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; keep it always."""
        request = getattr(record, "request", None)
        host = request.META.get("HTTP_HOST", "") if request is not None else ""
        record.msg = "Refused a request for host %r; if it is yours, add it to LOCI_ALLOWED_HOSTS."
        record.args = (host,)
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True
