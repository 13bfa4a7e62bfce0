"""Removes the toolkit's admin pages: tokens and consents are created and ended by services, never edited by hand."""

import oauth2_provider.admin  # noqa: F401 - registers them; whoever imports it first, they are removed after that
from django.contrib import admin
from oauth2_provider.models import AccessToken, Application, DeviceGrant, Grant, IDToken, RefreshToken

for model in (AccessToken, Application, DeviceGrant, Grant, IDToken, RefreshToken):
    if admin.site.is_registered(model):
        admin.site.unregister(model)
