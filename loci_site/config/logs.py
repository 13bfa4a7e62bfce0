"""Log filters: errors whose traceback adds nothing become one line."""

import logging


class RefusedHost(logging.Filter):
    """Turns the error for an unknown host name into one line that names the setting."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; always keep it."""
        request = getattr(record, "request", None)
        host = request.META.get("HTTP_HOST", "") if request is not None else ""
        record.msg = "Refused a request for host %r; if it is yours, add it to LOCI_ALLOWED_HOSTS."
        record.args = (host,)
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True
