"""Mutants: small faults put into the code one at a time; the tests of the area must fail for each."""
