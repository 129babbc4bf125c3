"""Which processes belong to a server that we started, and who listens on its port."""

import contextlib
import os
import time

import psutil

MARKER = "FORKGUARD_SERVER"
"""An environment variable that a server's offspring inherits, however often it forks."""

_ROUNDS = 20
_PAUSE = 0.05


class Family:
    """A child that leads a session of its own, with all its offspring.

    Offspring is known by its session, by its parents, or by the marker in its environment, so a process that
    forked twice and left the session is found as well.
    """

    def __init__(self, leader: int, *, marker: str) -> None:
        self.leader = leader
        self._marker = marker

    def members(self) -> list[psutil.Process]:
        """Every process of the family that still runs, the leader included; zombies do not count."""
        offspring: set[int] = set()
        with contextlib.suppress(psutil.NoSuchProcess):
            offspring = {child.pid for child in psutil.Process(self.leader).children(recursive=True)}
        return [process for process in psutil.process_iter() if self._belongs(process, offspring)]

    def end(self, *, grace: float) -> tuple[str, ...]:
        """Wait `grace` seconds for the family to end by itself, then kill it.

        Returns the command lines of those that had to be killed, the leader's not among them; empty when
        nobody was left behind. Raises nothing: `members` tells whether somebody survived.
        """
        deadline = time.monotonic() + grace
        while self.members() and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        left: dict[int, str] = {}
        for _ in range(_ROUNDS):
            members = self.members()
            if not members:
                break
            for process in members:
                with contextlib.suppress(psutil.Error):
                    if process.pid != self.leader:
                        left.setdefault(process.pid, " ".join(process.cmdline()) or process.name())
                    process.kill()
            time.sleep(_PAUSE)
        return tuple(f"{pid}: {line}" for pid, line in left.items())

    def listeners(self, port: int) -> tuple[bool, bool]:
        """Whether one of the family listens on TCP `port`, and whether a stranger (or one unknown) does."""
        family = {process.pid for process in self.members()}
        try:
            sockets = psutil.net_connections(kind="tcp")
            owners = [entry.pid for entry in sockets if _listens(entry.status, entry.laddr, port)]
        except psutil.AccessDenied:  # not on Linux: there each process is asked for its own
            owners = [pid for pid in family if _process_listens(pid, port)]
        return any(pid in family for pid in owners), any(pid not in family for pid in owners)

    def _belongs(self, process: psutil.Process, offspring: set[int]) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            if process.pid == self.leader or process.pid in offspring or os.getsid(process.pid) == self.leader:
                return True
            return process.environ().get(MARKER) == self._marker
        except (psutil.Error, OSError):
            return False


def _listens(status: str, address: object, port: int) -> bool:
    return status == psutil.CONN_LISTEN and getattr(address, "port", None) == port


def _process_listens(pid: int, port: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return any(
            _listens(entry.status, entry.laddr, port) for entry in psutil.Process(pid).net_connections(kind="tcp")
        )
    return False
