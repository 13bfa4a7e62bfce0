"""Fill the store of one LOCI_HOME with the fictional team of bench.demo; print each token and login as JSON.

A program of its own, since it works on a home that is not the test process's.
"""

import contextlib
import json
import sys

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore

from bench.demo.fill import User, fill_store


def main() -> None:
    """Make the people, three groups and about seventy memories."""
    with contextlib.redirect_stdout(sys.stderr):
        secrets = fill_store(decisions=20, traits=2)
    logins = {user.username: login(user) for user in User.objects.all()}
    sys.stdout.write(json.dumps({"tokens": secrets, "logins": logins}))


def login(user: User) -> str:
    """The session cookie of a login like the form's, without the second that password hashing takes."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


if __name__ == "__main__":
    main()
