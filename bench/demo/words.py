"""How the people of the sample team log in, in pictures and tests."""

PASSWORD = "a long walk by the sea"
