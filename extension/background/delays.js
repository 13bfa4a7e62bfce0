// How long to wait after a failed attempt.

const FIRST_MS = 60_000;
const LONGEST_MS = 3_600_000;

/** 1, 2, 4 … minutes, at most an hour; longer if the server named a time. */
export function delayMs(failures, retryAfterMs = 0) {
  return Math.max(Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS), retryAfterMs);
}
