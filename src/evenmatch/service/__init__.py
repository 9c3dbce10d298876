"""THE LIVE SERVER. Asynchronous code lives only here; what it decides is decided in `core`.

routes, hot (HTTP) ─> wire (bodies) ─> runner (mailbox, engine thread, group commit) ─> replies
sockets (WebSocket) <─ messages (events in public words) <─ runner, after the commit
"""
