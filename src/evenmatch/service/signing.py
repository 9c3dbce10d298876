"""What requests to game servers are signed with: a secret that stands in the environment, and nowhere else."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.venue import AllocateSpec

from .posting import NotAnswered

SECRET_LEAST_BYTES: Final = 16


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What proves that a request is ours."""
    return "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def secret_of(environ: Mapping[str, str], spec: AllocateSpec) -> str | NotAnswered:
    """The secret that a queue's requests are signed with, or why there is none."""
    secret = environ.get(spec.secret, "")
    if len(secret.encode("utf-8", "surrogateescape")) < SECRET_LEAST_BYTES:
        what = "is too short" if secret else "is not set"
        return NotAnswered(f"the variable {spec.secret} {what}: give it {SECRET_LEAST_BYTES} bytes or more", "secret")
    return secret


def lacking(environ: Mapping[str, str], spec: QueueSpec) -> str | None:
    """What a queue that asks for game servers lacks to sign its requests; None = nothing."""
    missing = None if spec.allocate is None else secret_of(environ, spec.allocate)
    if not isinstance(missing, NotAnswered):
        return None
    return f"queues.{spec.name}.allocate.secret: {missing}, such as of `openssl rand -hex 32`"
