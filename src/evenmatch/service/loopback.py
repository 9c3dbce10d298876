"""Which addresses and origins are this machine's own."""

import ipaddress
import socket
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Does an address, or every address of a name, lead to this machine only?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        try:
            found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)} if host else set()
        except OSError:
            return False
        return bool(found) and all(ipaddress.ip_address(address).is_loopback for address in found)


def is_own_name(host: str) -> bool:
    """Is a Host header, with or without a port, a name of this very machine? Pages elsewhere can send theirs here."""
    return not set(host) & set("@/?#\\") and is_local(f"//{host}")


def is_local(origin: str) -> bool:
    """Is an origin a page of this very machine?"""
    try:
        host = urlsplit(origin).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
