"""DRILLS: a real server, real clients, and what goes wrong on purpose; an independent audit at the end."""
