"""The OpenAPI document, made once for a test process: each takes a while, and tests of several files read it."""

from functools import cache
from typing import Any

from loci_site.api import api


@cache
def document() -> dict[str, Any]:
    return api.get_openapi_schema(path_prefix="/api/")
