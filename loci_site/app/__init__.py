"""The workspace, for everyone with an account: log in, search, read, store, correct, flag. Curating is the admin's."""
