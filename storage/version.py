"""The package's version and name; the build reads `__version__`."""

__version__ = "0.3.0"
DISTRIBUTION = "loci-team-memory"  # `loci-memory` on the public index is another project
_FILE = __file__


def install_extra(name: str) -> str:
    """The command that installs an extra of this Loci: of the checkout that it runs from, or of the package."""
    # Here, since loci-hook imports this module, and pathlib would take it as long as all the rest.
    from pathlib import Path  # noqa: PLC0415

    is_checkout = (Path(_FILE).parents[1] / "manage.py").is_file()
    return f"make extra NAME={name}" if is_checkout else f"pip install '{DISTRIBUTION}[{name}]'"
