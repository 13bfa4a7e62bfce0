"""Pure text functions: cleaning, word forms, dates, claims and contradictions."""
