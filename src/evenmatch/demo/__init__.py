"""A crowd to look at: a server with a queue for each kind of matcher, and simulated players over the public API."""
