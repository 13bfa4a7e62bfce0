"""The admin site: what a service refuses becomes a page that says so, with the right status."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from django.contrib import admin, messages
from django.contrib.admin.apps import SimpleAdminConfig
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from unfold.sites import UnfoldAdminSite

from access.errors import LociError

View = Callable[..., HttpResponse]
NEXT = "next"  # where one wanted to go, as django.contrib.auth names it
NOT_FOUND = "There is nothing of that name that you may see."
NOT_PERMITTED = "You may not do this: it takes a role in the group that you do not have, or a superuser."


class LociAdminConfig(SimpleAdminConfig):
    """Puts our site where Django looks for the default one.

    Its pages are found by loci_site/urls.py: commands would else import them all, for half a second of each.
    """

    default_site = "loci_site.admin.site.LociAdminSite"

    def ready(self) -> None:
        """Make the site, so that its check is run."""
        super().ready()
        str(admin.site)


class LociAdminSite(UnfoldAdminSite):  # type: ignore[misc]  # unfold has no types
    """Loci in the browser."""

    site_title = "Loci"
    site_header = "Loci"
    index_title = "Dashboard"
    enable_nav_sidebar = True

    def check(self, app_configs: Any) -> list[Any]:
        """Check the pages, whether or not an address was asked for before."""
        admin.autodiscover()
        return list(super().check(app_configs))

    def get_urls(self) -> list[Any]:
        """Add the pages for looking around before Django's own, whose last one takes any address."""
        from loci_site.admin.explore.urls import explore_urls  # noqa: PLC0415 - this file is read before any model

        return [*explore_urls(self.admin_view), *super().get_urls()]

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Wrap a view as Django does, and render what it refuses."""

        def answering(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                return view(request, *args, **kwargs)
            except Http404:
                return self._refusal(request, 404, NOT_FOUND)
            except PermissionDenied as denied:
                return self._refusal(request, 403, str(denied) or NOT_PERMITTED)
            except LociError as refusal:
                if refusal.status in (403, 404) or request.method != "POST":
                    return self._refusal(request, refusal.status, refusal.message, hint=refusal.hint)
                messages.error(request, str(refusal))
                return HttpResponseRedirect(request.path)

        wrapped: View = super().admin_view(answering, cacheable)
        return wrapped

    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """Lead to the page on which everybody logs in, and from there to where one wanted to go on this site."""
        from loci_site.app.login import LogIn  # noqa: PLC0415 - this file is read before any model

        if request.method == "POST":
            return LogIn.as_view()(request)
        wanted = request.GET.get(NEXT, "")
        is_ours = url_has_allowed_host_and_scheme(
            wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )
        if self.has_permission(request):
            return HttpResponseRedirect(wanted if is_ours else reverse("admin:index"))
        query = f"?{NEXT}={quote(wanted, safe='/')}" if is_ours else ""
        return HttpResponseRedirect(reverse("people:login") + query)

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """As unfold's; that one has chosen another password is in the audit log."""
        # This module is read before models may be.
        from access.admin.caller import actor_of  # noqa: PLC0415
        from access.sign_in.users import log_password  # noqa: PLC0415

        with transaction.atomic():
            before = request.user.password  # type: ignore[union-attr]  # only who is logged in comes here
            answer: HttpResponse = super().password_change(request, extra_context)
            if request.user.password != before:  # type: ignore[union-attr]
                log_password(actor_of(request), request.user)  # type: ignore[arg-type]
        return answer

    def _refusal(self, request: HttpRequest, status: int, message: str, *, hint: str = "") -> HttpResponse:
        context = {**self.each_context(request), "title": message, "message": message, "hint": hint}
        return TemplateResponse(request, "admin/loci/refused.html", context, status=status)
