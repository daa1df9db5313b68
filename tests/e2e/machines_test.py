"""Two machines, as network namespaces with their own clocks: addresses, clocks."""

import os
import subprocess
import unittest

from machines import Machines
from ranks import STEP, TOY, Run
from support import copies, read_trace, run

ONE = [*TOY, "--length", 60, "--timeout", 20, "-p", 1]
PIPELINE = ["train", "-a", "resnet18", "--dataset", "generated", "--length", 32, "-b",
            8, "-j", 1, "--mode", "model-parallel", "--split", "layer3",
            "--micro-batches", 4, "--timeout", 20, "-p", 1]
PORT = 2811


class Addresses(Machines):  # gate
    """Rank 0 is on machine 0. Machine 1 knows its address; rank 0 may know less."""

    def train(self, urls, before=((), ()), more=((), ()), **variables):
        ranks = []
        for rank in (0, 1):
            ranks.append(Run([*ONE, "--steps", 2, "--dist-url", urls[rank],
                              "--world-size", 2, "--rank", rank, *more[rank]],
                             before=[*self.on(rank), *before[rank]], **variables))
            self.addCleanup(ranks[-1].kill)
        for rank in ranks:
            self.assertEqual(rank.end(), 0, rank.err)
        self.assertEqual(sum(STEP in line for line in ranks[0].out), 2)
        return ranks

    def hosts(self, text):
        """The prefix of a command that resolves names by this /etc/hosts alone."""
        file = self.path(f"hosts{len(os.listdir(self.folder))}")
        with open(file, "w", encoding="utf-8") as hosts:
            hosts.write(text)
        return ["unshare", "-m", "sh", "-c",
                f'mount --bind {file} /etc/hosts && exec "$0" "$@"']

    def url(self, host):
        return f"tcp://{host}:{PORT}"

    def test_debians_own_name_is_a_loopback_address(self):
        self.train([self.url("head")] * 2,
                   before=[self.hosts("127.0.1.1 head\n"),
                           self.hosts("10.77.0.1 head\n")])

    def test_localhost_on_the_master(self):
        ranks = self.train([self.url("localhost"), self.url("10.77.0.1")])
        note = "=> note: no secret for 2 machines"
        self.assertEqual([sum(note in line for line in rank.out) for rank in ranks],
                         [1, 0])

    def test_machines_with_a_secret(self):
        ranks = self.train([self.url("10.77.0.1")] * 2, LOCKSTEP_SECRET="of both")
        self.assertNotIn("no secret", "".join([*ranks[0].out, *ranks[1].out]))

    def test_any_address_on_the_master(self):
        self.train([self.url("0.0.0.0"), self.url("10.77.0.1")])

    def test_ipv6_first_on_rank_0_only(self):
        for name, end in zip(self.names, (1, 2)):
            self.ip("-n", name, "addr", "add", f"fd77::{end}/64", "dev", "wire",
                    "nodad", wanted=0)
        self.train([self.url("head")] * 2,
                   before=[self.hosts("fd77::1 head\n10.77.0.1 head\n"),
                           self.hosts("10.77.0.1 head\n")])
        self.train([self.url("[fd77::1]")] * 2)

    def test_a_file_that_machines_share(self):
        for backend in "ring", "gloo":
            self.train([f"file://{self.path('store')}"] * 2,
                       more=[["--dist-backend", backend]] * 2)

    def test_the_interface_that_is_asked_for(self):
        url = f"file://{self.path('store')}"
        self.train([url] * 2, more=[["--ifname", "wire"]] * 2)
        self.train([url] * 2, GLOO_SOCKET_IFNAME="wire")
        ranks = [Run([*ONE, "--steps", 2, "--dist-url", url, "--world-size", 2,
                      "--rank", rank, "--timeout", 5,
                      *(["--ifname", "ib7"] if rank else [])],
                     before=self.on(rank)) for rank in (0, 1)]
        for rank in ranks:
            self.addCleanup(rank.kill)
        for rank in ranks:
            self.assertEqual(rank.end(), 1)
        self.assertIn("--ifname ib7: no such interface that is up and has an address; "
                      "fix: use one of this machine's: wire (10.77.0.2)",
                      ranks[1].err[0])

    def test_a_name_that_appears_later(self):
        before = self.hosts("127.0.0.1 localhost\n")
        late = Run([*ONE, "--steps", 2, "--dist-url", self.url("head"),
                    "--world-size", 2, "--rank", 1], before=[*self.on(1), *before])
        self.addCleanup(late.kill)
        late.wait_for("is waiting for the others")
        with open(self.path("hosts0"), "a", encoding="utf-8") as hosts:
            hosts.write("10.77.0.1 head\n")
        head = Run([*ONE, "--steps", 2, "--dist-url", self.url("10.77.0.1"),
                    "--world-size", 2, "--rank", 0], before=self.on(0))
        self.addCleanup(head.kill)
        for rank in head, late:
            self.assertEqual(rank.end(), 0, rank.err)


    def test_a_machine_without_ipv4(self):
        """Every launcher's own address is then ::1."""
        alone = self.names[0]
        self.ip("-n", alone, "addr", "del", "127.0.0.1/8", "dev", "lo", wanted=0)
        self.ip("-n", alone, "link", "del", "wire", wanted=0)
        ranks = ["--multiprocessing-distributed", "--world-size", 1, "--rank", 0,
                 "--devices", 2]
        for words in ([*ONE, *ranks, "--steps", 2],
                      [*ONE, *ranks, "--steps", 2, "--dist-url", "tcp://[::1]:2812"],
                      ["launch", "--nproc-per-node", 2, *ONE, "--steps", 2],
                      ["launch", "--nproc-per-node", 2, "--master-port", 2813, *ONE,
                       "--steps", 2]):
            job = Run(words, before=self.on(0))
            self.addCleanup(job.kill)
            self.assertEqual(job.end(), 0, job.err)
            self.assertEqual(sum(STEP in line for line in job.out), 2, job.out)


class Clocks(Machines):  # gate
    """The merged trace of two machines, one 100,000 s ahead, breaks no law."""

    def traced(self, name, ahead=100000, words=ONE):
        ranks = [Run([*words, "--steps", 4, "--dist-url", f"tcp://10.77.0.1:{PORT}",
                      "--world-size", 2, "--rank", rank, "--trace",
                      self.path(f"{name}.json"), "--trace-steps", "1:4"],
                     before=self.on(rank, ahead if rank else 0)) for rank in (0, 1)]
        for rank in ranks:
            self.addCleanup(rank.kill)
        for rank in ranks:
            self.assertEqual(rank.end(), 0, rank.err)
        line, = [line for line in ranks[0].out if "clocks of 2 machines" in line]
        self.assertIn("residual 0.000 ms", line)
        run("trace", "check", self.path(f"{name}.json"))
        return read_trace(self.path(f"{name}.json"))["lockstep"]["clocks"]

    def setUp(self):
        super().setUp()
        probe = subprocess.run([*self.on(1, 100000), "true"], capture_output=True)
        if probe.returncode != 0:
            self.skipTest("time namespaces are not permitted here")

    def test_a_fast_wire(self):
        clocks = self.traced("fast")
        trip = clocks["machines"][1]["round_trip_ns"]
        error = abs(clocks["machines"][1]["offset_ns"] + 100000e9)
        self.assertLessEqual(error, trip / 2)
        self.assertLess(error, 10e6)
        self.assertEqual(clocks["machines"][0]["ranks"], [0])

    def test_stages_of_a_pipeline(self):
        self.traced("pipeline", words=PIPELINE)
        sent = {why: copies(read_trace(self.path("pipeline.json")), why)
                for why in ("activation", "activation_grad")}
        for why, (src, dst) in ("activation", (0, 1)), ("activation_grad", (1, 0)):
            self.assertEqual(len(sent[why]), 3 * 4)
            self.assertEqual({(c["src"], c["dst"]) for c in sent[why]}, {(src, dst)})

    def test_slow_wires(self):
        for there, back in ((1, 1), (20, 20), (2, 30)):
            with self.subTest(there=there, back=back):
                self.slow(there / 1e3, back / 1e3)
                clocks = self.traced(f"slow{there}")
                trip = clocks["machines"][1]["round_trip_ns"]
                self.assertGreaterEqual(trip, (there + back) * 1e6)
                error = abs(clocks["machines"][1]["offset_ns"] + 100000e9)
                self.assertLessEqual(error, trip / 2)


if __name__ == "__main__":
    unittest.main()
