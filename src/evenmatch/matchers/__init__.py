"""SNAPSHOT IN, PLAN OUT. Matchmaking algorithms, one file each, behind one contract.

`contract` says what every matcher promises, runs a wave and checks a plan; `registry` is the literal table of names;
`parameters` judges constructor arguments; `cost` is the price of uneven teams; `fitting` tells whether parties can fill
teams. Nothing here knows the time, the environment or chance beyond the seed it is given.
"""
