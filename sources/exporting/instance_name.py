"""The store's id, which names its audit chain in other stores."""

import uuid

from memories.models import IndexState

# In the database, so that a restored backup is still the same store.
NAME = "instance"


def instance_id() -> str:
    """The store's id (a UUID), created on first use."""
    state, _ = IndexState.objects.get_or_create(name=NAME, defaults={"value": str(uuid.uuid4())})
    return state.value
