"""A run whose server dies many deaths, and the reckoning at its end."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import ballast, wait_for

from journal import counts_at, keep_everything, read_lives, start_counts

WORKERS = 4
INTERVAL = 20  # updates between checkpoints
ENDLESS = ("--set", "updates=1000000000")
CHECKPOINTS = ("--checkpoint-updates", INTERVAL, "--checkpoint-seconds", 1000)
PAUSES_MS = (2, 2, 2, 300)  # the slots of a slow worker are linked, not written


class CrashRun:
    """One run whose server dies many deaths."""

    def __init__(self, site, findings):
        self.site, self.findings = site, findings
        self.state = site.folder / "state"
        self.server = site.serve("--state", self.state, *CHECKPOINTS, *ENDLESS)
        keep_everything(self.state)
        self.workers = [site.work(i, *ENDLESS, "--json", "--pause-ms", PAUSES_MS[i])
                        for i in range(WORKERS)]
        self.deaths = 0
        self.lost_max = 0
        self.wrong = []  # what a look at the folder found
        wait_for(lambda: site.status()["generation"] >= 3, 60)

    def kill(self):
        self.server.kill()
        self.note_death()

    def note_death(self):
        """Looks at what the dead server left behind. How many updates its state lacks."""
        self.server.wait()
        self.deaths += 1
        folder = json.loads(ballast("inspect", self.state, "--json").stdout)
        lives = read_lives(self.state)
        self.check_generations(folder, lives)
        written = max((record.t for record in lives[-1].records), default=lives[-1].t)
        lost = written - folder["generations"][0]["t"]
        self.lost_max = max(self.lost_max, lost)
        return lost

    def check_generations(self, folder, lives):
        """Each equals what the journal leads to."""
        counts = start_counts(lives, WORKERS)
        for generation in folder["generations"]:
            life = next(life for life in lives if life.number == generation["incarnation"])
            expected = counts_at(life, generation["t"], counts[life.number])
            found = [worker["count"] for worker in generation["workers"]]
            if not generation["intact"] or found != expected or sum(found) != generation["t"]:
                self.wrong.append(f"generation {generation['generation']} after death "
                                  f"{self.deaths}: {generation['damage']} {found} {expected}")
            sequences = sequences_at(lives, life, generation["t"])
            if [worker["sequence"] for worker in generation["workers"]] != sequences:
                self.wrong.append(f"sequences of generation {generation['generation']}")
        if folder["journal"]["damage"]:
            self.wrong.append(folder["journal"]["damage"])

    def resume(self, **how):
        self.server = self.site.start_server("--resume", self.state, *CHECKPOINTS, *ENDLESS, **how)
        return self.server

    def finish(self):
        """A last life without trouble, and the reckoning."""
        self.resume()
        resumed = self.site.is_listening(self.server)
        self.findings.check(resumed, "resumed after each of the deaths", self.deaths, "all")
        target = self.site.status()["accepted"] + 200
        wait_for(lambda: self.site.status()["accepted"] > target, 60)
        alive = sum(worker.poll() is None for worker in self.workers)
        self.findings.check(alive == WORKERS, "workers that lived through it", alive, WORKERS)
        for worker in self.workers:
            worker.terminate()
        tallies = [json.loads(worker.communicate(timeout=30)[0]) for worker in self.workers]
        self.server.terminate()
        self.server.communicate(timeout=30)
        self.findings.check(self.server.returncode == 0, "exit code after SIGTERM",
                            self.server.returncode, 0)
        self.reckon(read_lives(self.state), tallies)

    def reckon(self, lives, tallies):
        check = self.findings.check
        records = [record for life in lives for record in life.records]
        check(not self.wrong, "generations that differ from the replay of the journal",
              self.wrong[:3] or 0, 0)
        twice = [key for key, times in
                 Counter((record.worker, record.sequence) for record in records).items()
                 if times > 1]
        check(not twice, "tickets accepted twice, over all lives", twice[:3] or 0, 0)
        gaps = sum(record.t != life.t + i for life in lives
                   for i, record in enumerate(life.records, start=1))
        check(gaps == 0, "gaps in the numbers of accepted updates", gaps, 0)
        written = Counter(record.worker for record in records)
        acknowledged = [tally["accepted"] for tally in tallies]
        # A worker that is told to leave does not wait for the verdict on its last update.
        differences = [written[i] - count for i, count in enumerate(acknowledged)]
        check(all(0 <= difference <= 1 for difference in differences),
              "acknowledged updates by the workers' own tallies, and by the journal",
              f"{sum(acknowledged)} and {len(records)}",
              "the same, but for one per worker on its way out")
        self.findings.note("updates sent, lost with a connection, and reconnections",
                           " ".join(str(sum(tally[key] for tally in tallies))
                                    for key in ("sent", "lost", "reconnects")))


def sequences_at(lives, life, t):
    """The largest accepted ticket of each worker when the state of that life had t updates."""
    end = next((record.position for record in life.records if record.t == t), 0)
    largest = [0] * WORKERS
    for record in (record for one in lives for record in one.records):
        if record.position <= end:
            largest[record.worker] = max(largest[record.worker], record.sequence)
    return largest


def failpoint_names():
    """All that the source names."""
    source = Path(__file__).resolve().parents[2] / "src/ballast/store/failpoint.cc"
    table = re.search(r"kNames = \{(.*?)\};", source.read_text(), re.DOTALL).group(1)
    return re.findall(r'"([a-z-]+)"', table)
