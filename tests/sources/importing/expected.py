"""What each sample of a foreign format becomes, worked out by hand."""

EVENT, FACT, HOW, NAME = "episodic", "semantic", "procedural", "entity"
# Type, text, tags and day of each memory in order; "(…)" of a text is its ending.
EXPECTED: dict[str, list[tuple[str, str, str, str]]] = {
    "mcp_memory.jsonl": [
        (NAME, "Anna", "person", ""),
        (FACT, "Anna: Anna leads the payments team.", "person", ""),
        (FACT, "Anna: Prefers tea over coffee.", "person", ""),
        (NAME, "Ledger", "service", ""),
        (FACT, "Ledger: Listens on port 8081.", "service", ""),
        (NAME, "Berlin office", "place", ""),
    ],
    "mem0.json": [
        (FACT, "Allergic to peanuts", "health food", "2025-03-01"),
        (FACT, "Lives in Hamburg", "", "2025-06-01"),
    ],
    "mem0_history.sql": [(FACT, "Allergic to peanuts", "", "2025-04-01")],
    "mcp_memory_service.json": [
        (FACT, "Deploys run on Tuesdays.", "deploy team note", "2025-02-19"),
        (HOW, "Restart with: make restart", "ops restart procedure", "2025-02-19"),
    ],
    "mcp_memory_service.sql": [
        (FACT, "Deploys run on Tuesdays.", "deploy team note", "2025-02-19"),
        (HOW, "Restart with: make restart", "ops restart procedure", "2025-02-19"),
    ],
    "claude_mem.sql": [
        (
            FACT,
            "Money is kept in cents\nFloats lost cents in March.\n- Amounts are integers\n- Cents avoid rounding",
            "decision money rounding",
            "2025-10-01",
        ),
        (FACT, "Old version text", "", "2025-10-01"),
        (
            EVENT,
            "Request: Fix the rounding\nInvestigated: Looked at money.py\nCompleted: Switched to cents\n"
            "Next steps: Migrate old rows",
            "session-summary",
            "2025-10-01",
        ),
    ],
    "claude_mem.json": [
        (
            FACT,
            "Money is kept in cents\nFloats lost cents in March.\n- Amounts are integers\n- Cents avoid rounding",
            "decision money rounding",
            "2025-10-01",
        ),
        (EVENT, "Request: Fix the rounding\nCompleted: Switched to cents", "session-summary", "2025-10-01"),
    ],
    "basic_memory": [
        (NAME, "Coffee Brewing", "drinks how to note", "2025-05-01"),
        (FACT, "Coffee Brewing: Pour over gives a clean cup", "method brewing drinks how to", "2025-05-01"),
        (
            FACT,
            "Coffee Brewing\n- [ ] buy filters\n- [x] clean the grinder\n- [00:01:02] he starts to pour\n"
            "- [site](https://example.org) has a guide\n- The best cup I ever had was made with the old [[Grinder]]",
            "drinks how to",
            "2025-05-01",
        ),
        (FACT, "Coffee Brewing › Water: Water should have 94 degrees.", "drinks how to", "2025-05-01"),
        (NAME, "Grinder", "tool", ""),
        (FACT, "Grinder: The grinder has 40 steps", "fact", ""),
    ],
    "claude_code": [
        (FACT, "The staging password rotates on Mondays", "", ""),
        (HOW, "No emojis in commits\nNever put emojis into commit messages.", "feedback", "2026-04-03"),
        (
            FACT,
            "Tests: run them with make test # not pytest\nRun the tests with `make test`; the database must be up.",
            "project",
            "2026-04-02",
        ),
    ],
    "obsidian": [
        (FACT, "Ledger: The ledger runs on port 8081. Back to [[home#Money]].", "", ""),
        (
            FACT,
            "Home\nSee [[Areas/Ledger|the ledger]] and [[Missing Note]]. #home\n![[picture.png]]\n\n```\n"
            "# not a heading [[Garden]] #nottag\n```",
            "index home",
            "2026-01-05",
        ),
        (FACT, "Home › Money: We pay rent on the first.", "index home", "2026-01-05"),
        (NAME, "Ledger", "", ""),
        (NAME, "Home", "", ""),
    ],
    "chatgpt": [
        (EVENT, "User: When should we go to Rome?", "", "2025-02-19"),
        (EVENT, "Assistant: Go in May.", "", "2025-02-19"),
        (FACT, "I am a vegetarian.", "instructions", "2025-03-03"),
        (HOW, "Answer in short sentences.", "instructions", "2025-03-03"),
        (EVENT, "User: A soup for ten people?", "", "2025-03-03"),
    ],
    "claude_ai": [
        (EVENT, "User: How do I fix a flat tyre?", "", "2026-02-01"),
        (EVENT, "Assistant: Take the tube out first.", "", "2026-02-01"),
        (HOW, "Bikes: Give metric sizes.", "instructions", "2026-01-01"),
    ],
    "gemini": [
        (
            EVENT,
            "User: How long do eggs keep?\nAssistant: About four weeks.\nin the fridge",
            "",
            "2026-03-01",
        ),
        (EVENT, "User: What is a leap second?", "", "2026-03-02"),
        (EVENT, "User: Eingegeben: Wie spät ist es?", "", "2026-03-03"),
    ],
    "markdown": [
        (FACT, "plain: Plain text without any heading.", "", ""),
        (FACT, 'Fix: the "gateway": Intro of the note.', "ops on call", "2026-02-11"),
        (FACT, 'Fix: the "gateway" › Alarms: Alarms go to the phone.', "ops on call", "2026-02-11"),
        (
            FACT,
            'Fix: the "gateway" › Alarms › Night\nOnly red alarms at night.\n\n```sh\n# restart\nmake restart\n```',
            "ops on call",
            "2026-02-11",
        ),
        (FACT, 'Fix: the "gateway" › Alarms: A second part of the same name.', "ops on call", "2026-02-11"),
    ],
    "table.csv": [
        (FACT, "The port is 8081, since May", "ops port", "2026-05-01"),
        (EVENT, "Hello, Ben\nhow are you?", "", "2026-05-02"),
        (FACT, "No id and no group", "", ""),
    ],
    "locus": [
        (FACT, "Just a text.", "", ""),
        (FACT, "# The ledger's port\n\nIt is 8081. # not a heading", "ops", "2026-05-01"),
    ],
}
# Rejected records, and those left out on purpose.
TROUBLE = {
    "mcp_memory.jsonl": (1, {"relations of an entity that the file does not have": 1}),
    "mem0.json": (1, {}),
    "mem0_history.sql": (0, {"memories that were deleted there": 1}),
    "mcp_memory_service.sql": (0, {"memories that were deleted there": 1}),
    "claude_mem.sql": (0, {"prompts": 1}),
    "claude_mem.json": (0, {"prompts": 1}),
    "basic_memory": (0, {"relations to notes that the folder does not have": 1}),
    "claude_code": (
        0,
        {
            "lines of MEMORY.md that lead to a file": 2,
            "turns of sessions: import them with --turns": 1,
        },
    ),
    "obsidian": (
        0,
        {
            "templates, trash and conflict copies": 2,
            "links to notes that the vault does not have": 1,
        },
    ),
    "claude_ai": (0, {"documents of projects, which are not memories": 1}),
    "gemini": (0, {"activities that are not prompts": 1}),
    "markdown": (1, {}),
    "table.csv": (3, {}),
}
RELATIONS = {
    "mcp_memory.jsonl": [("Anna", "maintains", "Ledger")],
    "basic_memory": [
        ("Coffee Brewing", "requires", "Grinder"),
        ("Coffee Brewing", "pairs_well_with", "Grinder"),
    ],
    "obsidian": [("Ledger", "mentions", "Home"), ("Home", "mentions", "Ledger")],
}
