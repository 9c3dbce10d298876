"""Tests of the live server: real processes, real sockets, and the runner by itself."""
