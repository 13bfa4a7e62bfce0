"""Single sign-on: through a provider of OpenID Connect, or by a header of a proxy."""
