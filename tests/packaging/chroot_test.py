#!/usr/bin/env python3
"""Installs the Debian package into a minimal Debian, starts it, and upgrades it while it runs.

The steps of installing are the RUN lines of packaging/Containerfile. Takes minutes, the right to
mount and to change the root, the package mmdebstrap and the machine's own package sources; without
one of these it says so and is left out. `make check-deb` runs it.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/packaging/chroot_test.py
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import CLOUDS, PROGRAM, ballast, write_data

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
SOURCES = (*sorted(Path("/etc/apt/sources.list.d").glob("*.sources")),
           Path("/etc/apt/sources.list"))
SPEC = CLOUDS + """
workers = 3
rule = "ctma(cwmed, 0.34)"
weights = "count"
"""
# A network of its own, so that the ports of the unit are free, and no process is left behind.
ISOLATED = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child")


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    if not shutil.which("mmdebstrap"):
        return "needs the package mmdebstrap"
    if subprocess.run([*ISOLATED, "true"], capture_output=True, check=False).returncode != 0:
        return "needs the right to make namespaces"
    return None


def run(*words, **how):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, timeout=900, **how)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def run_lines():
    """The steps of the Containerfile."""
    return re.findall(r"^RUN (.*)$", (PACKAGING / "Containerfile").read_text(), re.MULTILINE)


def unit_command(name):
    """What the unit starts, with its specifiers for worker-0."""
    text = (PACKAGING / name).read_text().replace("\\\n", "")
    command = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1)
    return (command.replace("%i", "$NAME").replace("${BALLAST_SERVER}", "127.0.0.1:7000")
            .replace("$BALLAST_WORKER_FLAGS", ""))


# Inside the chroot: the server of the unit and three workers, as the unit's user; an upgrade while
# they run; then a restart, as systemd does one, by SIGTERM.
SCENE = r"""
set -eu
umask @UMASK@
cd /var/lib/ballast
as="setpriv --reuid=ballast --regid=ballast --clear-groups"
wait_for() { for _ in $(seq 600); do if grep -q "$2" "$1"; then return; fi; sleep 0.1; done
  echo "waited in vain for $2 in $1:"; tail -5 "$1"; exit 1; }
$as @SERVER@ 2>log-1 >out-1 & server=$!
wait_for log-1 '"event":"listening"'
for NAME in worker-0 worker-1 worker-2; do $as @WORKER@ 2>log-$NAME >out-$NAME & done
wait_for log-1 '"event":"evaluation"'
ballast --version >version-1
apt-get install -y --no-install-recommends /upgrade/ballast_*.deb >/dev/null
kill -0 $server
kill -TERM $server
wait $server
$as @SERVER@ 2>log-2 >out-2 & server=$!
wait_for log-2 '"event":"resumed"'
wait_for log-2 '"event":"evaluation"'
kill -TERM $server
wait $server
"""


@unittest.skipIf(why_not(), why_not())
class Chroot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="ballast-chroot-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.root = cls.folder / "root"
        sources = next(path for path in SOURCES if path.exists() and path.read_text().strip())
        run("mmdebstrap", "--quiet", "--variant=minbase", "bookworm", cls.root, sources)
        package = run(PACKAGING / "build_deb.sh", PROGRAM, cls.root / "tmp").strip()
        cls.version = re.search(r"_(.*)_", Path(package).name).group(1)
        upgrade = cls.root / "upgrade"
        upgrade.mkdir()
        run(PACKAGING / "build_deb.sh", PROGRAM, upgrade,
            env={**os.environ, "BALLAST_DEB_VERSION": cls.version + "+next"})
        for step in run_lines():
            run("chroot", cls.root, "sh", "-c", step)
        # The last step has removed what an upgrade needs.
        run("chroot", cls.root, "apt-get", "update")

    def test_the_services_start_train_and_live_through_an_upgrade(self):
        home = self.root / "var/lib/ballast"
        home.mkdir(exist_ok=True)  # systemd's StateDirectory
        write_data(home)
        (home / "spec.toml").write_text(SPEC)
        (home / "server.flags").write_text("--set updates=1000000000 --set evaluate_every=100")
        self.issue_certificates(home)
        run("chroot", self.root, "chown", "-R", "ballast:ballast", "/var/lib/ballast")
        server = (PACKAGING / "ballast-server.service").read_text()
        scene = (SCENE.replace("@SERVER@", unit_command("ballast-server.service"))
                 .replace("@WORKER@", unit_command("ballast-worker@.service"))
                 .replace("@UMASK@", re.search(r"^UMask=(\d+)$", server, re.MULTILINE).group(1)))
        (self.root / "scene").write_text(scene)

        run(*ISOLATED, "sh", "-c", f"ip link set lo up; mount -t proc proc {self.root}/proc; "
            f"exec chroot {self.root} env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh /scene")

        events = [json.loads(line) for line in (home / "log-2").read_text().splitlines()]
        resumed = next(event for event in events if event["event"] == "resumed")
        self.assertGreater(resumed["accepted"], 0)
        self.assertEqual(resumed["lost"], 0, "the old version saved before it ended")
        installed = run("chroot", self.root, "dpkg-query", "-W", "-f", "${Version}", "ballast")
        self.assertEqual(installed, self.version + "+next")
        self.assertEqual((home / "state").stat().st_mode & 0o077, 0, "nobody else's business")

    def issue_certificates(self, home):
        ca = self.folder / "ca"
        ballast("ca", "init", "--dir", ca)
        ballast("ca", "issue", "main", "--server", "--host", "127.0.0.1", "--dir", ca)
        names = ["main", *(f"worker-{i}" for i in range(3))]
        for name in names[1:]:
            ballast("ca", "issue", name, "--dir", ca)
        for name in ("ca.crt", "denied", *(f"{one}.{end}" for one in names
                                           for end in ("crt", "key"))):
            shutil.copy(ca / name, home)

    def test_systemd_takes_the_units(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("needs systemd-analyze")
        for unit in ("ballast-server.service", "ballast-worker@.service"):
            path = self.root / "lib/systemd/system" / unit
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", f"--root={self.root}",
                                   path], capture_output=True, text=True, check=False)
            # Of the lines of ours; the units of systemd itself are not in a minimal Debian.
            self.assertNotRegex(done.stderr, rf"{re.escape(unit)}:\d+: ")
            judged = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                                     path], capture_output=True, text=True, check=False)
            exposure = re.search(r"exposure level for \S+: ([0-9.]+)", judged.stdout)
            self.assertIsNotNone(exposure, judged.stdout[-500:] + judged.stderr[-500:])
            self.assertLess(float(exposure.group(1)), 3.0, "systemd: below 3 is well protected")


if __name__ == "__main__":
    unittest.main()
