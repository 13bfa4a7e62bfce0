from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "loci_site.app.notifications"
    label = "notifications"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Notifications"
    adds = {
        "cleanups": ("loci_site.app.notifications.outbox.delete_old_deliveries",),
        "notify": (
            "loci_site.app.notifications.work.is_waiting",
            "loci_site.app.notifications.work.work",
        ),
    }
