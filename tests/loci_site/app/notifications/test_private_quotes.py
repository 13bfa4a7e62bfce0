"""What webhooks do not quote, even if the settings allow quotes."""

import pytest
import time_machine
from django.contrib.auth.models import User

from access.models import Group
from tests.loci_site.app.notifications.conftest import Chosen, Receiver, turn
from tests.loci_site.app.notifications.test_notifications import SECRET_TEXT, disputed, hook
from tests.model import encoder

__all__ = ["encoder"]  # fixtures
pytestmark = pytest.mark.django_db


def test_a_webhook_quotes_no_private_group(
    chosen: Chosen,
    clock: time_machine.Traveller,
    owner: User,
    ledger: Group,
    garden: Group,
    receiver: Receiver,
    encoder: object,
) -> None:
    chosen(quote=True)
    hook(owner, receiver)
    Group.objects.filter(pk=garden.pk).update(private=True)
    disputed(owner, ledger)
    disputed(owner, garden, "The roses are red.")
    turn(clock)
    assert receiver.last["data"]["quotes"] == [SECRET_TEXT]
