"""The groups of a store that is measured on both databases."""

SMALL = 1_000  # memories in each of the groups that fill the store
NAMED = {"1k": 1_000, "5k": 5_000, "20k": 20_000, "200k": 200_000}
NEEDS_LARGE = 100_000  # memories; such a store has a group above the size that is compared whole


def sizes_of_groups(size: int) -> dict[str, int]:
    """The groups of a store: those of NAMED that leave half of it to others, the largest one that fits, and small ones."""
    chosen = {name: count for name, count in NAMED.items() if 2 * count <= size}
    if size >= NEEDS_LARGE and "200k" not in chosen:
        chosen[f"{size * 6 // 10_000}k"] = size * 6 // 10
    while sum(chosen.values()) > size:
        chosen.pop(next(iter(chosen)))
    left = size - sum(chosen.values())
    return chosen | {
        f"small-{number}": min(SMALL, left - at) for number, at in enumerate(range(0, left, SMALL))
    }
