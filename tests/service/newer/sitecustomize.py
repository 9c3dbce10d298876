"""The next version of evenmatch: Python imports this by itself when the folder is on its path.

It has a migration more, which adds a column that this version does not know, and with CODEC=1 it writes events in a
schema that this version cannot read.
"""

import os

import evenmatch
from evenmatch.storage import codec

evenmatch.__version__ = "0.2.0"
if os.environ.get("CODEC") == "1":
    codec.UPCASTERS[codec.SCHEMA] = lambda event: event
    codec.SCHEMA += 1  # type: ignore[misc]
    codec.decode_events.__defaults__ = (codec.SCHEMA,)

from evenmatch.storage import postgres_schema  # noqa: E402 - after the codec, whose number it takes

_known = postgres_schema.migrations
_next = "-- needs: 1\nALTER TABLE nodes ADD COLUMN zone text NOT NULL DEFAULT '';"
postgres_schema.migrations = lambda: [*_known(), postgres_schema.Migration(len(_known()) + 1, "zones", 1, _next)]
