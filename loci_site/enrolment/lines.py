"""The one line that brings a client its tools and hooks, on a machine with nothing but the client and Python, or uv."""

import shlex
from typing import Final

from django.utils.translation import gettext

from access.connect import ConnectLine, base_url
from loci_site.enrolment.wheel import client_wheel

# Looks at the file before anything of it runs; uvx would not: it ignores the hash of an address.
_RUN: Final = (
    'import sys,hashlib,tempfile; sys.version_info>=(3,11) or sys.exit("Python 3.11 or newer is needed.");'
    " from urllib.request import urlopen; d=urlopen(sys.argv[1]).read();"
    ' hashlib.sha256(d).hexdigest()==sys.argv[2] or sys.exit("This is another file than the page named: nothing was run.");'
    ' f=tempfile.NamedTemporaryFile(suffix=".whl"); f.write(d); f.flush(); sys.path.insert(0,f.name); del sys.argv[1:3];'
    " from loci_site.clients.main import main; main()"
)


def enrolment_lines(client: str, code: str) -> list[ConnectLine]:
    """The line for Python and for uv, with the one-time code in it, which is not a token: shells keep what is typed."""
    url, wheel = base_url(), client_wheel()
    words = [f"{url}/connect/{wheel.name}", wheel.sha256, "connect", client, "--url", url, "--code", code]
    rest = f"-c {shlex.quote(_RUN)} {shlex.join(words)}"
    return [
        ConnectLine(gettext("With Python"), gettext("In a terminal"), f"python3 {rest}"),
        ConnectLine(
            gettext("With uv"),
            gettext("In a terminal"),
            f"uv run --no-project --python '>=3.11' python {rest}",
        ),
    ]
