"""A clock that is wrong: Python imports this by itself when the folder is on its path. SKEW_S says by how much."""

import os
import time

_AHEAD_S = float(os.environ.get("SKEW_S", "0"))
_true_s, _true_ns = time.time, time.time_ns
time.time = lambda: _true_s() + _AHEAD_S
time.time_ns = lambda: _true_ns() + int(_AHEAD_S * 1e9)
