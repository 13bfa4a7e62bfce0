"""The broker of a proof that is not the worker's memory: a Redis server of its own on a free port."""

import shutil
import subprocess
import time
from pathlib import Path

import redis

from bench.proof.proof import ProofError
from bench.proof.server import free_port
from loci_site.worker import QUEUE

START_S = 20


class RedisBroker:
    """A Redis server that keeps nothing on disk; what waited when it was killed is lost."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.redis_url = f"redis://127.0.0.1:{self._port}/0"
        self._client = redis.Redis(port=self._port)
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        folder = str(self._folder)
        command = [redis_server(), "--port", str(self._port), "--bind", "127.0.0.1", "--dir", folder]
        command += ["--save", "", "--appendonly", "no", "--logfile", str(self._folder / "redis.log")]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                self._client.ping()
            except redis.ConnectionError:
                time.sleep(0.05)
            else:
                return
        raise ProofError(f"redis-server did not answer; see {self._folder / 'redis.log'}.")

    def kill(self) -> None:
        """End the server as a crash does."""
        self._process.kill()
        self._process.wait()

    def waiting(self) -> int:
        """Count the messages that nobody has taken."""
        length: int = self._client.llen(QUEUE)
        return length

    def lose(self) -> int:
        """Destroy them; give how many there were."""
        length, _ = self._client.pipeline().llen(QUEUE).delete(QUEUE).execute()
        return int(length)

    def close(self) -> None:
        """End the server."""
        self._client.close()
        self.kill()


def redis_server() -> str:
    """The path of the server. Raises ProofError where it is not installed."""
    found = shutil.which("redis-server")
    if found is None:
        raise ProofError("redis-server is not installed (Debian: apt-get install redis-server).")
    return found
