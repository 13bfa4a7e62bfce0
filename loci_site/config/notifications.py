"""The settings of notifications: [notifications], and the errors between them."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Literal

from loci_site.config.keys import key


@dataclass(frozen=True)
class Notifications:
    """[notifications] mail and webhooks; off for each person until chosen."""

    mail_host: str = key(
        "", "Mail server that sends notifications; empty: no mail.", variable="LOCI_MAIL_HOST"
    )
    mail_port: int = key(587, "Port of the mail server.", low=1, high=65_535)
    mail_security: Literal["starttls", "tls", "none"] = key(
        "starttls", "How the connection to the mail server is encrypted."
    )
    mail_user: str = key("", "Name at the mail server; empty: none is needed.", variable="LOCI_MAIL_USER")
    mail_password: str = key("", "Password at the mail server.", variable="LOCI_MAIL_PASSWORD", secret=True)
    mail_from: str = key("", "Address that mail comes from.", variable="LOCI_MAIL_FROM")
    webhook_hosts: tuple[str, ...] = key(
        (),
        "Host names, addresses or networks that webhooks may reach although they are private, such as 10.0.0.5; they"
        " may use http.",
    )
    quote: bool = key(
        False, "Whether notifications quote the beginning of what waits; otherwise they hold no stored text."
    )


def find_notification_conflicts(chosen: Notifications) -> Iterator[str]:
    """Errors in combinations of these settings."""
    if chosen.mail_host and "@" not in chosen.mail_from:
        yield (
            f"notifications.mail_from is {chosen.mail_from!r}; with notifications.mail_host it must be an address such as "
            "loci@example.org"
        )
    for entry in chosen.webhook_hosts:
        try:
            if "/" in entry:
                ip_network(entry)
        except ValueError:
            yield f"notifications.webhook_hosts has {entry!r}, which is not a network; write one such as 10.0.0.0/24"
