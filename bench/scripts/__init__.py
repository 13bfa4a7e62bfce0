"""Programs that prepare a checkout or a release."""
