"""The package's version and name; the build reads `__version__`."""

from pathlib import Path
from typing import Final

__version__ = "0.3.0"
DISTRIBUTION: Final = "loci-team-memory"  # `loci-memory` on the public index is another project
_CHECKOUT: Final = Path(__file__).parents[1]


def install_extra(name: str) -> str:
    """The command that installs an extra of this Loci: of the checkout that it runs from, or of the package."""
    is_checkout = (_CHECKOUT / "manage.py").is_file()
    return f"make extra NAME={name}" if is_checkout else f"pip install '{DISTRIBUTION}[{name}]'"
