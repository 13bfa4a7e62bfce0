from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "access"
    default_auto_field = "django.db.models.BigAutoField"
    adds = {
        "cleanups": (
            "access.tokens.stored_answers.delete_old_answers",
            "access.tokens.pairing.delete_old_codes",
        )
    }

    def ready(self) -> None:
        """Reserve the names that the log gives to Loci itself, at every door where an account gets its name."""
        from django.contrib.auth.models import User  # noqa: PLC0415 - models are loaded by now, not before

        from access.sign_in.users import refuse_machine_name  # noqa: PLC0415 - as above

        User._meta.get_field("username").validators.append(refuse_machine_name)
