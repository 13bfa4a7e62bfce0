"""A Redis server of its own on a free port."""

import shutil
import subprocess
from pathlib import Path

import redis

from bench.proof.proof import ProofError, wait_until
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
        fault = f"redis-server did not answer; see {self._folder / 'redis.log'}."
        wait_until(self._answers, fault, seconds=START_S)

    def _answers(self) -> bool:
        try:
            return bool(self._client.ping())
        except redis.ConnectionError:
            return False

    def kill(self) -> None:
        """End the server as a crash does."""
        self._process.kill()
        self._process.wait()

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
