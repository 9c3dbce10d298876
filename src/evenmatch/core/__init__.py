"""VERBS. The deterministic heart: no clock, no chance, no input or output, nothing asynchronous.

`decide` turns a command into events or a refusal, `evolve` applies events, `engine.Engine.step` does one after the
other; waves are scheduled, frozen and vetted here, but the matchers that answer them live elsewhere.
"""
