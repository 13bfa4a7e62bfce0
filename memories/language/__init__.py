"""Pure text functions: cleaning, word forms, dates, claims and contradictions. Their word tables are in data/."""
