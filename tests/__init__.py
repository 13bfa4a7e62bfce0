"""Tests of Loci, named as behaviours."""
