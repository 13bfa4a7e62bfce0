"""Errors of the embedding model."""

from access.errors import Unavailable


class ModelUnavailable(Unavailable):
    """There is no encoder now: not installed, failed to load, or still loading when the wait was over."""

    code = "model_unavailable"


class ModelInstallFailed(Unavailable):
    """No source gave the model's files, or what it gave is not the published model."""

    code = "model_install_failed"
