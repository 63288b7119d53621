"""A bar on the terminal, for calls that take long."""

import sys
import time
from typing import Any, Callable, Optional, Union

Progress = Union[bool, Callable[[int, int], Any], None]


def listener(progress: Progress, total: int) -> Optional[Callable[[int], None]]:
    """What the library calls after so many more updates. True: a bar; None: one on a terminal;
    a callable is told (done, total)."""
    if progress is None:
        progress = sys.stderr.isatty()
    if progress is False:
        return None
    done = 0
    told = 0.0

    def on_updates(updates: int) -> None:
        nonlocal done, told
        done += updates
        if callable(progress):
            progress(done, total)
            return
        now = time.monotonic()
        if now - told < 0.1 and done < total:
            return
        told = now
        filled = 30 * done // max(total, 1)
        end = "\n" if done >= total else ""
        bar = "#" * filled + "." * (30 - filled)
        print(f"\r[{bar}] {done}/{total} updates", end=end, file=sys.stderr, flush=True)

    return on_updates
