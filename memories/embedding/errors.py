"""Errors of the embedding model."""

from access.errors import Unavailable


class ModelUnavailable(Unavailable):
    """No encoder at the moment: not installed, failed to load, or still loading after the wait."""

    code = "model_unavailable"


class ModelInstallFailed(Unavailable):
    """No source has the model's files, or they are not the published model."""

    code = "model_install_failed"
