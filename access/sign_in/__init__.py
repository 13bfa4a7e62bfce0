"""Login: form, passwords, users and throttling."""
