"""The version of Loci; the package is built from this line."""

__version__ = "0.3.0"
