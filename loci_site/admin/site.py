"""The admin site. A service's refusal becomes a page with its message and status."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from django.contrib import admin, messages
from django.contrib.admin.apps import SimpleAdminConfig
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from unfold.sites import UnfoldAdminSite

from access.errors import LociError
from loci_site.admin.places import crumbs_of

View = Callable[..., HttpResponse]
NEXT = "next"  # the page to open after the login, as django.contrib.auth names it
NOT_FOUND = gettext_lazy("Not found, or you don't have access.")
_NOT_PERMITTED = gettext_lazy(
    "You may not do this: it needs a role in the group that you do not have, or a superuser."
)


class LociAdminConfig(SimpleAdminConfig):
    """Installs our site as Django's default one.

    loci_site/urls.py discovers the admin modules: done here, every command would import them all, half a second each.
    """

    default_site = "loci_site.admin.site.LociAdminSite"

    def ready(self) -> None:
        """Create the site, so that its system check runs."""
        super().ready()
        str(admin.site)


class LociAdminSite(UnfoldAdminSite):  # type: ignore[misc]  # unfold has no types
    """Loci in the browser."""

    site_title = "Loci"
    site_header = "Loci"
    index_title = gettext_lazy("Home")
    enable_nav_sidebar = True

    def check(self, app_configs: Any) -> list[Any]:
        """Check all admin pages, even before the first request has imported them."""
        admin.autodiscover()
        return list(super().check(app_configs))

    def has_permission(self, request: HttpRequest) -> bool:
        """Every active account may enter; what a page shows and does is decided by the roles in groups."""
        return bool(request.user.is_active)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """unfold's context, with the way back from a page behind Settings, and what the frame offers the reader."""
        # This module is imported before the models are ready.
        from access.actor import WRITE  # noqa: PLC0415
        from access.admin.caller import actor_of  # noqa: PLC0415
        from access.sign_in.preferences import preference_of_user  # noqa: PLC0415

        context: dict[str, Any] = super().each_context(request)
        return context | {
            "crumbs": crumbs_of(request),
            "may_store": actor_of(request).may_somewhere(WRITE),
            "has_shortcuts": preference_of_user(request.user).shortcuts,
        }

    def get_urls(self) -> list[Any]:
        """The explore pages, then Django's own: its last pattern matches every path."""
        from loci_site.admin.explore.urls import explore_urls  # noqa: PLC0415 - imported before the models are ready

        return [*explore_urls(self.admin_view), *super().get_urls()]

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Wrap a view as Django does, and render refusals as pages."""

        def with_refusals(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                return view(request, *args, **kwargs)
            except Http404:
                return self.render_refusal(request, 404, str(NOT_FOUND))
            except PermissionDenied as denied:
                return self.render_refusal(request, 403, str(denied) or str(_NOT_PERMITTED))
            except LociError as refusal:
                # Of the address: its message and hint are for agents.
                if refusal.field == "id" and refusal.status == 404:
                    return self.render_refusal(request, refusal.status, str(NOT_FOUND))
                if refusal.status in (403, 404) or request.method != "POST":
                    return self.render_refusal(request, refusal.status, refusal.message, hint=refusal.hint)
                messages.error(request, str(refusal))
                return HttpResponseRedirect(request.path)

        wrapped: View = super().admin_view(with_refusals, cacheable)
        return wrapped

    def render_refusal(
        self, request: HttpRequest, status: int, message: str, *, hint: str = ""
    ) -> HttpResponse:
        context = {**self.each_context(request), "title": message, "message": message, "hint": hint}
        return TemplateResponse(request, "admin/loci/refused.html", context, status=status)

    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """Redirect to the login page, keeping a `next` that leads back to this site."""
        from loci_site.app.login import LogIn  # noqa: PLC0415 - imported before the models are ready

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
        """Redirect to the account's form, which counts wrong passwords."""
        return HttpResponseRedirect(reverse("people:password"))
