"""What the tests of the package share."""

import os
import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture(scope="session")
def program():
    """The program `ballast`, to which results are compared."""
    path = os.environ.get("BALLAST_PROGRAM")
    if not path:
        pytest.skip("BALLAST_PROGRAM does not name the program")
    return path


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


@pytest.fixture
def run_python():
    """Runs a script in another process, and fails with what it said if it does not end well."""

    def run(script, timeout=120, **options):
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=timeout,
            **options,
        )
        assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def certificates(program, tmp_path):
    """An authority with a server `main` and its workers."""
    folder = tmp_path / "ca"

    def ca(*arguments):
        command = [program, "ca", *arguments, "--dir", folder]
        subprocess.run(command, check=True, capture_output=True, text=True)

    ca("init")
    ca("issue", "main", "--server", "--host", "localhost", "--host", "127.0.0.1")
    for number in range(7):
        ca("issue", f"worker-{number}")
    return folder, ca
