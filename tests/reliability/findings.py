"""One line per finding, and an exit code that says whether all of them hold."""

import argparse


def is_full(description):
    """Whether the script was asked for its full size; the reduced one takes seconds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--full", action="store_true", help="full size, as in docs/reliability.md")
    return parser.parse_args().full


class Findings:
    def __init__(self, script):
        self.script = script
        self.failed = False

    def check(self, holds, what, measured, limit):
        """Prints what was found and remembers whether it holds."""
        verdict = "OK" if holds else "FAILED"
        print(f"{self.script}: {what}: {measured}; limit: {limit}: {verdict}", flush=True)
        self.failed |= not holds

    def note(self, what, measured):
        """Prints what has no limit."""
        print(f"{self.script}: {what}: {measured}", flush=True)

    def exit_code(self):
        return 1 if self.failed else 0
