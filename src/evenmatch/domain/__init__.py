"""NOUNS. Frozen values that every other room speaks in; this room imports nothing of ours."""
