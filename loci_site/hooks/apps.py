from django.apps import AppConfig


class HooksConfig(AppConfig):
    name = "loci_site.hooks"
    label = "hooks"
    verbose_name = "Hooks"
    adds = {
        "places": ("loci_site.hooks.sessions.HOOK_PLACES",),
        "cleanups": ("loci_site.hooks.sessions.delete_old_rows",),
        "local facts": ("loci_site.hooks.repository.with_own_checkout",),
    }
