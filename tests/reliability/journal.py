"""The journal of a serving run, read with another SQLite than the server's, and replayed.

The server cuts records that two checkpoints made superfluous. keep_everything() adds a trigger that
moves them to a table of their own, so that the whole history can be replayed at the end.
"""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

NAME = "journal.sqlite"


@dataclass
class Record:
    position: int
    incarnation: int
    t: int
    worker: int
    sequence: int


@dataclass
class Life:
    number: int
    generation: int  # that it went on from
    t: int
    records: list = field(default_factory=list)


def keep_everything(state):
    """Call while no updates are coming in."""
    with closing(sqlite3.connect(state / NAME, timeout=10)) as journal:
        journal.execute("CREATE TABLE kept AS SELECT * FROM updates")
        journal.execute("CREATE TRIGGER keep BEFORE DELETE ON updates BEGIN INSERT INTO kept "
                        "SELECT * FROM updates WHERE position = OLD.position; END")
        journal.commit()


def read_lives(state):
    """The lives of the server in order, each with its accepted updates. The server must be dead.

    Reads a copy: opening a journal after a crash mends it, which is the server's job.
    """
    with tempfile.TemporaryDirectory() as copy:
        for suffix in ("", "-wal"):
            if (state / (NAME + suffix)).exists():
                shutil.copy(state / (NAME + suffix), copy)
        with closing(sqlite3.connect(Path(copy) / NAME)) as journal:
            tables = {row[0] for row in journal.execute("SELECT name FROM sqlite_master")}
            lives = {row[0]: Life(*row) for row in journal.execute(
                "SELECT number, generation, t FROM incarnations ORDER BY number")}
            for table in ("kept", "updates"):
                if table not in tables:
                    continue
                for row in journal.execute(
                        f"SELECT position, incarnation, t, worker, sequence FROM {table} "
                        "WHERE verdict = 0 AND event = 0 ORDER BY position"):
                    lives[row[1]].records.append(Record(*row))
    return list(lives.values())


def start_counts(lives, worker_count):
    """Accepted updates per worker at the start of each life, by the journal alone.

    Each life went on from a checkpoint of the life before it, or from the one that this had gone on
    from.
    """
    counts = {}
    for before, life in zip([None, *lives], lives):
        if before is None:
            counts[life.number] = [0] * worker_count
        elif life.generation == before.generation:
            counts[life.number] = counts[before.number]
        else:
            counts[life.number] = counts_at(before, life.t, counts[before.number])
    return counts


def counts_at(life, t, start):
    """Accepted updates per worker when the state had t of them."""
    counts = list(start)
    for record in life.records:
        if record.t <= t:
            counts[record.worker] += 1
    return counts
