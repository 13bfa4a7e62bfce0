"""The application that the server runs: `uvicorn loci_site.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")

application = get_asgi_application()
