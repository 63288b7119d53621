"""Workers that never stop, of whom some are ended at random and started again."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import CLOUDS

WORKERS = 6
ENDLESS = ("--set", "updates=1000000000")
SPEC = CLOUDS + f"""
workers = {WORKERS}
rule = "ctma(cwmed, 0.3)"
weights = "f-cap(1, 0.2)"
"""


class Crowd:
    """The first `steady` of the workers are left alone."""

    def __init__(self, site, rng, flags, credentials, steady):
        self.site, self.rng, self.flags, self.credentials = site, rng, flags, credentials
        self.steady = steady
        self.ended = {signal.SIGTERM: 0, signal.SIGKILL: 0}
        self.workers = [self.start(i) for i in range(WORKERS)]

    def start(self, number):
        return self.site.work(number, *ENDLESS, *self.flags, credentials=self.credentials[number])

    def churn(self):
        """Ends one of the others and starts it again, with nothing remembered."""
        number = self.rng.randrange(self.steady, WORKERS)
        how = self.rng.choice((signal.SIGTERM, signal.SIGKILL))
        worker = self.workers[number]
        if worker.poll() is None:
            worker.send_signal(how)
            worker.wait(timeout=60)
            self.ended[how] += 1
        self.site.forget(worker)
        self.workers[number] = self.start(number)

    def gave_up(self):
        """Workers that ended although nobody asked them to."""
        return sum(worker.poll() is not None for worker in self.workers)
