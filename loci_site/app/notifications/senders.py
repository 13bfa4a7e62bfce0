"""Send one delivery: by mail, or to a webhook at its checked address."""

import base64
import hmac
import json
import time
from typing import Any, Final

import httpx2
from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage, get_connection
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from access.connect import base_url
from loci_site.app.notifications.addresses import resolve
from loci_site.app.notifications.models import Delivery, Webhook
from loci_site.app.notifications.notices import in_language_of, rendered
from storage.version import __version__

TIMEOUT_S: Final = 10
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the mark of such secrets in Standard Webhooks, not one of them


class NotSent(Exception):
    """The message was not delivered; its text is the reason shown in the log of deliveries."""


def send(delivery: Delivery) -> None:
    """Send the message now. Raises NotSent."""
    if delivery.webhook is not None:
        post(delivery, delivery.webhook)
    elif delivery.user is not None:
        mail(delivery, delivery.user)


def is_mail_on() -> bool:
    """True if the settings name a mail server."""
    return bool(settings.LOCI.notifications.mail_host)


def mail(delivery: Delivery, user: User) -> None:
    """Send the message to a person. Raises NotSent."""
    if not is_mail_on():
        raise NotSent("no mail server is set: notifications.mail_host")
    if not user.email or not user.is_active:
        raise NotSent("the person has no e-mail address or is deactivated")
    parts = rendered(delivery, user)
    quotes = [f"> {' '.join(text.split())}" for text in parts["quotes"]]
    with in_language_of(user):
        account = base_url() + reverse("people:account")
        foot = gettext("You asked for this in My account: {address}").format(address=account)
    body = "\n".join([*parts["lines"], *(["", *quotes] if quotes else []), "", parts["url"], "", "-- ", foot])
    message = EmailMessage(
        f"[Loci] {parts['subject']}",
        body,
        settings.LOCI.notifications.mail_from,
        [user.email],
        headers={"Auto-Submitted": "auto-generated", "X-Loci-Delivery": str(delivery.id)},
        connection=get_connection(timeout=TIMEOUT_S),
    )
    try:
        message.send()
    except Exception as error:  # smtplib, sockets and TLS raise many kinds
        raise NotSent(f"the mail server: {type(error).__name__}: {error}") from error


def post(delivery: Delivery, webhook: Webhook) -> None:
    """Send the message to a webhook, signed as in Standard Webhooks. Raises NotSent."""
    if not webhook.is_on:
        raise NotSent("the webhook is switched off")
    body = json.dumps(message_of(delivery, webhook), ensure_ascii=False, separators=(",", ":")).encode()
    try:
        target = resolve(webhook.url)
    except Exception as refusal:
        raise NotSent(str(refusal)) from refusal
    headers = {**_signed_headers(delivery, webhook, body), "Host": target.host_header}
    try:
        # No redirects and no proxies from the environment: only the checked address is called.
        with (
            httpx2.Client(timeout=TIMEOUT_S, trust_env=False, follow_redirects=False) as client,
            client.stream(
                "POST", target.url, content=body, headers=headers, extensions={"sni_hostname": target.host}
            ) as answer,
        ):
            status = answer.status_code
    except httpx2.HTTPError as error:
        raise NotSent(f"{type(error).__name__}: {error}") from error
    if not 200 <= status < 300:
        raise NotSent(f"it answered {status}")


def message_of(delivery: Delivery, webhook: Webhook) -> dict[str, Any]:
    """The JSON that a webhook gets."""
    return {
        "type": delivery.event,
        "timestamp": delivery.made_at.isoformat(),
        "data": rendered(delivery, webhook),
    }


def _signed_headers(delivery: Delivery, webhook: Webhook, body: bytes) -> dict[str, str]:
    """The headers with the signature over id, time and body; the same id in every attempt."""
    at = str(int(time.time()))
    signed = b".".join([str(delivery.id).encode(), at.encode(), body])
    signature = base64.b64encode(hmac.digest(key_of(webhook), signed, "sha256")).decode()
    return {
        "Content-Type": "application/json",
        "User-Agent": f"Loci/{__version__}",
        "webhook-id": str(delivery.id),
        "webhook-timestamp": at,
        "webhook-signature": f"v1,{signature}",
    }


def secret_of(webhook: Webhook) -> str:
    """The secret with which the receiver verifies signatures. Derived from this home's key, never stored."""
    return _SECRET_PREFIX + base64.b64encode(key_of(webhook)).decode()


def key_of(webhook: Webhook) -> bytes:
    """The bytes of the secret."""
    seed = f"{webhook.id}.{webhook.generation}"
    return salted_hmac("loci.notifications.webhook", seed, algorithm="sha256").digest()
