"""The addresses with OAuth switched on, as LOCI_OAUTH=1 makes them."""

from django.urls import include, path

from loci_site.urls import urlpatterns as without

urlpatterns = [*without, path("", include("loci_site.oauth.urls"))]
