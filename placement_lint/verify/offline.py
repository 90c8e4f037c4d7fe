"""No network for what a proof runs: Python's sockets reach this machine only.

A proof must not depend on what some server says, nor tell one that it runs. Code in C does not
pass here, but the libraries that are used open no connection of their own except between the
processes of `jax.distributed`, which are on loopback.
"""

import ipaddress
import sys
from typing import Any

_HERE = frozenset({"", "localhost", "0.0.0.0", "::"})  # noqa: S104  addresses to allow
_NAMES_A_HOST = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
_SENDS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


class NetworkRefusedError(OSError):
    """What a proof gets for asking after another machine."""


def refuse_network() -> None:
    """Let no socket of this process reach another machine, from now on and for good."""
    sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _NAMES_A_HOST:
        _check(arguments[0])
    elif event in _SENDS:
        address = arguments[1]
        # The address of a socket of this machine's own is a path; a connected one needs none.
        if isinstance(address, tuple) and address:
            _check(address[0])


def _check(host: object) -> None:
    name = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else host
    if name is None or (isinstance(name, str) and (name in _HERE or _is_loopback(name))):
        return
    msg = f"a proof has no network: {name!r} was asked for"
    raise NetworkRefusedError(msg)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
