"""Accounts, groups, tokens, rights and the audit log."""

# The scopes of a token, as people read them before they grant one. Settings read this before any model can be imported.
SCOPES: dict[str, str] = {
    "read": "Recall and read memories",
    "write": "Store, correct, forget and dispute memories",
    "curate": "Purge memories for ever, and everything else that a curator may do",
    "create-group": "Create a group by storing into it",
    "admin": "Change groups and their members",
    "hook": "Start sessions, recall for prompts, and leave captures and checkpoints, by the hooks of a client only",
    "capture": "Keep conversations of a browser in its owner's own private group",
}
