"""How to ask a running server of ours: its address, and the key that it was really given."""

from __future__ import annotations

from tui.keeper.readiness import owns_port, reachable
from tui.launch.config_words import read_words
from tui.launch.process_words import read_process
from tui.launch.records import LaunchRecord, Recorded
from tui.sglang.http import Endpoint, NoAnswerError
from tui.sglang.words import Words


def running_words(recorded: Recorded) -> Words:
    """The words of its command line as its process has them, secrets included; the recorded ones when it is gone.

    Those of its config file are among them, as it is now.
    """
    server, launch = recorded.state.server, recorded.launch
    argv = read_process(server)[0] if server is not None else ()
    return read_words(argv or launch.argv, launch.sglang_version, launch.cwd)


def endpoint_of(recorded: Recorded, words: Words) -> Endpoint:
    """Where it is asked."""
    launch = recorded.launch
    return Endpoint(launch.host, launch.port, words.get("--api-key"), tls=words.has("--ssl-certfile"))


def url_of(launch: LaunchRecord) -> str:
    """Where a client on this machine finds it."""
    host = reachable(launch.host)
    scheme = "https" if read_words(launch.argv, launch.sglang_version, launch.cwd).has("--ssl-certfile") else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{launch.port}"


def proven_endpoint(recorded: Recorded) -> Endpoint:
    """The same, once it is proved that whoever answers there is one of its processes: nobody else gets its key.

    Raises:
        NoAnswerError: it isn't.
    """
    endpoint = endpoint_of(recorded, running_words(recorded))
    if not owns_port(recorded.living_members(), endpoint.port, endpoint.host):
        raise NoAnswerError(f"port {endpoint.port} isn't listened on by it")
    return endpoint
