"""Log-in: form, passwords, users and throttling."""
