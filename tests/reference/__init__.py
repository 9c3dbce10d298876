"""Slow, obvious twins: plain transcriptions that the fast code must agree with."""
