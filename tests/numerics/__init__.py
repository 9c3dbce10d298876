"""Tests of the mathematics."""
