"""Kill workers while they write."""

import random
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.cluster.processes import local_workers


class Killer(threading.Thread):
    """Kill `times` workers that write one of the `files` (a pattern) below `work`.

    A worker is killed up to half a second after it has opened the file.
    """

    def __init__(self, work: Path, files: str, times: int, seed: int):
        super().__init__()
        self.work, self.files, self.times = work, files, times
        self.random = random.Random(seed)
        self.killed, self.seen, self.stop = [], set(), False

    def run(self):
        while len(self.killed) < self.times and not self.stop:
            for path in sorted(set(map(str, self.work.glob(self.files))) - self.seen):
                self.seen.add(path)
                self._kill_writer(path)
            time.sleep(0.005)

    def _kill_writer(self, path: str):
        for worker in local_workers():
            with suppress(psutil.Error):
                if path in {file.path for file in worker.open_files()}:
                    time.sleep(self.random.uniform(0, 0.5))
                    worker.kill()
                    self.killed.append(worker.pid)
                    return
