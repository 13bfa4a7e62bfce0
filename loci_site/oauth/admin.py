"""The toolkit's own admin pages are taken off: tokens and consents are made and ended by services, never typed in."""

from django.contrib import admin
from oauth2_provider.models import AccessToken, Application, DeviceGrant, Grant, IDToken, RefreshToken

for model in (AccessToken, Application, DeviceGrant, Grant, IDToken, RefreshToken):
    if admin.site.is_registered(model):
        admin.site.unregister(model)
