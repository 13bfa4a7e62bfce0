"""As in English: short forms that sort, and a point in numbers, which drawings need and the API writes too."""

from loci_site.formats.en.formats import DATE_FORMAT, DATETIME_FORMAT, TIME_FORMAT

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ""

__all__ = ["DATETIME_FORMAT", "DATE_FORMAT", "DECIMAL_SEPARATOR", "THOUSAND_SEPARATOR", "TIME_FORMAT"]
