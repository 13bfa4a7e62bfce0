"""The one line that brings a client its tools and hooks, on a machine with nothing but the client and Python, or uv."""

from typing import Final

from django.utils.translation import gettext

from access.connect import ConnectLine, base_url
from loci_site.enrolment.wheel import client_script

# Looks at the script before anything of it runs: its address ends with half of its SHA-256. Without $, `, \, ! and %, so that
# sh, PowerShell and cmd all read it as it is.
_RUN: Final = (
    "import hashlib,urllib.request as r;s=r.urlopen(u:='{url}/connect/{name}').read();"
    "hashlib.sha256(s).hexdigest()[:32]in u or exit('The file changed.');exec(s)"
)


def enrolment_lines(client: str, code: str) -> list[ConnectLine]:
    """The line for Python and for uv, with the one-time code in it, which is not a token: shells keep what is typed."""
    rest = f'-c "{_RUN.format(url=base_url(), name=client_script().name)}" {client} {code}'
    return [
        ConnectLine(gettext("With Python"), gettext("In a terminal"), f"python3 {rest}"),
        ConnectLine(
            gettext("With uv"), gettext("In a terminal"), f'uv run --no-project -p ">=3.11" python {rest}'
        ),
    ]
