"""Which store this is: the name its audit chain carries in other stores."""

import uuid

from memories.models import IndexState

# Beside the indexes' own values: it must live in the database, so that a restored backup is still the same store.
NAME = "instance"


def instance_id() -> str:
    """Give this store's id (a UUID), made when it is first asked for."""
    state, _ = IndexState.objects.get_or_create(name=NAME, defaults={"value": str(uuid.uuid4())})
    return state.value
