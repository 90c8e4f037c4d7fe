"""Python's sockets in the subprocess reach this machine, and no other."""

import subprocess
import sys

import pytest

PROGRAM = """
import socket
from placement_lint.verify.offline import NetworkRefusedError, refuse_network
refuse_network()
try:
    {action}
    print("allowed")
except NetworkRefusedError as error:
    print("refused", error)
"""


def said(action: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(action=action)],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("action", "asked_for"),
    [
        ("socket.create_connection(('192.0.2.1', 80), timeout=1)", "'192.0.2.1'"),
        ("socket.getaddrinfo('example.invalid', 80)", "'example.invalid'"),
        ("socket.gethostbyname('metadata.google.internal')", "'metadata.google.internal'"),
        ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 53))", "'192.0.2.1'"),
        (
            "import urllib.request; urllib.request.urlopen('http://127.0.0.2.example.invalid/')",
            "",
        ),
    ],
)
def test_another_machine_is_refused(action: str, asked_for: str) -> None:
    if "urllib" in action:
        # What comes of it in a library is an error of its kind, as without a network.
        action = f"""
    import urllib.error
    try:
        {action}
    except urllib.error.URLError as error:
        raise error.reason from None"""
    assert said(action).startswith(f"refused a proof has no network: {asked_for}")


def test_this_machine_is_not() -> None:
    action = """
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname(), timeout=5) as client:
            client.sendall(b"x")
    socket.getaddrinfo("localhost", 80)
    socket.getaddrinfo(None, 80)
    first, second = socket.socketpair()
    first.sendall(b"x")"""
    assert said(action) == "allowed"
