"""Two machines: network namespaces, joined by a wire that may be slow each way."""

import ctypes
import fcntl
import heapq
import os
import select
import struct
import subprocess
import threading
import time

from support import TempTest

CLONE_NEWNET, IFF_TUN, IFF_NO_PI = 0x40000000, 1, 0x1000
TUNSETIFF = 0x400454CA


class Wire(threading.Thread):
    """Carries packets between two namespaces, each way after its delay (seconds)."""

    def __init__(self, names, delays):
        super().__init__(daemon=True)
        self._names, self._delays = names, delays
        self._open, self._stopped = threading.Event(), threading.Event()
        self.error = None
        self.start()
        self._open.wait(10)

    def run(self):
        try:  # this thread alone enters the namespaces
            ends = [self._end(name) for name in self._names]
        except OSError as error:
            self.error = error
            return
        finally:
            self._open.set()
        other = {ends[0]: (ends[1], self._delays[0]),
                 ends[1]: (ends[0], self._delays[1])}
        under_way, count = [], 0
        while not self._stopped.is_set():
            wait = max(0, under_way[0][0] - time.monotonic()) if under_way else 0.2
            for end in select.select(ends, [], [], wait)[0]:
                to, delay = other[end]
                heapq.heappush(under_way, (time.monotonic() + delay, count,
                                           to, os.read(end, 1 << 16)))
                count += 1
            while under_way and under_way[0][0] <= time.monotonic():
                _, _, to, packet = heapq.heappop(under_way)
                try:
                    os.write(to, packet)
                except OSError:  # the other end is down
                    pass
        for end in ends:
            os.close(end)

    @staticmethod
    def _end(name):
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{name}", "rb") as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        end = os.open("/dev/net/tun", os.O_RDWR)
        wire = struct.pack("16sH22x", b"wire", IFF_TUN | IFF_NO_PI)
        fcntl.ioctl(end, TUNSETIFF, wire)
        return end

    def stop(self):
        self._stopped.set()
        self.join(10)


class Machines(TempTest):
    """Machine 0 is 10.77.0.1 and machine 1 is 10.77.0.2; skips where not permitted."""

    wire = None  # a slow one

    def setUp(self):
        super().setUp()
        self.names = [f"lockstep{os.getpid()}{side}" for side in "ab"]
        for name in self.names:
            if self.ip("netns", "add", name) != 0:
                self.skipTest("`ip netns add` is not permitted here")
            self.addCleanup(self.ip, "netns", "del", name)
            if self.ip("netns", "exec", name, "true") != 0:  # as in a chroot
                self.skipTest("`ip netns exec` is not permitted here")
        self.connect()

    def connect(self):
        a, b = self.names
        self.ip("link", "add", "wire", "netns", a, "type", "veth", "peer", "name",
                "wire", "netns", b, wanted=0)
        self.number()

    def number(self):
        for name, end in zip(self.names, (1, 2)):
            self.ip("-n", name, "addr", "add", f"10.77.0.{end}/24", "dev", "wire",
                    wanted=0)
            self.ip("-n", name, "link", "set", "wire", "up", wanted=0)
            self.ip("-n", name, "link", "set", "lo", "up", wanted=0)

    def slow(self, there, back):
        """Replaces the wire by one with these one-way delays, in seconds."""
        if self.wire:
            self.wire.stop()  # both ends vanish with it
        else:
            self.ip("-n", self.names[0], "link", "del", "wire")
        if not os.path.exists("/dev/net/tun"):
            self.skipTest("no /dev/net/tun here")
        self.wire = Wire(self.names, (there, back))
        self.addCleanup(self.wire.stop)
        if self.wire.error:
            self.skipTest(f"no slow wire here: {self.wire.error}")
        self.number()

    def on(self, machine, ahead=0):
        """The prefix of a command for a machine, its clock `ahead` by seconds."""
        words = ["ip", "netns", "exec", self.names[machine]]
        return words + (["unshare", "-T", "--monotonic", str(ahead)] if ahead else [])

    def ip(self, *words, wanted=None):
        try:
            done = subprocess.run(["ip", *words], capture_output=True, text=True)
        except FileNotFoundError:
            self.skipTest("`ip` (iproute2) is not installed")
        if wanted is not None:
            self.assertEqual(done.returncode, wanted, done.stderr)
        return done.returncode
