"""How ranks that are started separately connect, and their errors if they cannot."""

import os
import signal
import socket
import sys
import unittest

from machines import Machines
from ranks import STEP, TOY, Run, free_port, group_members
from support import TempTest, run

ONE = [*TOY, "--length", 60, "--timeout", 20]


class Meeting(TempTest):
    def start(self, words, **how):
        rank = Run([*ONE, *words], **how)
        self.addCleanup(rank.kill)
        return rank

    def all_train(self, ranks, steps=2):
        for rank in ranks:
            self.assertEqual(rank.end(), 0, rank.err)
            self.assertEqual(rank.err, [])
        printed = [sum(STEP in line for line in rank.out) for rank in ranks]
        self.assertEqual(printed, [steps] + [0] * (len(ranks) - 1))

    def by_hand(self, url, worlds=(2, 2), ranks=(0, 1), more=()):
        return [self.start(["--dist-url", url, "--world-size", world, "--rank", rank,
                            "--steps", 2, "-p", 1, *more])
                for world, rank in zip(worlds, ranks)]

    def test_env(self):
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        self.all_train([self.start(["--dist-url", "env://", "--steps", 2, "-p", 1],
                                   RANK=rank, WORLD_SIZE=3, **place)
                        for rank in range(3)])
        _, error = run(*ONE, "--dist-url", "env://", code=1, MASTER_ADDR="",
                       RANK="0", WORLD_SIZE="2")
        self.assertIn("MASTER_ADDR is not set", error)
        _, error = run(*ONE, "--dist-url", "env://", code=1, RANK="1.5", WORLD_SIZE="2")
        self.assertIn('RANK is "1.5", expected an integer', error)

    def test_tcp(self):
        self.all_train(self.by_hand(f"tcp://127.0.0.1:{free_port()}"))

    def test_file(self):
        file = self.path("store")
        self.all_train(self.by_hand(f"file://{file}"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_file_that_another_run_left(self):
        url = f"file://{self.path('store')}"
        ranks = self.by_hand(url, more=["--steps", 10**6, "--epochs", 10**6])
        ranks[0].wait_for(STEP, 2)
        for rank in ranks:
            rank.kill()
        self.assertTrue(os.path.exists(self.path("store")))
        again, = self.by_hand(url, worlds=[2], ranks=[0])
        self.assertEqual(again.end(), 1)
        self.assertIn("rank 0 joined twice", again.err[0])
        self.assertIn(f"delete {self.path('store')}", again.err[0])

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = "tcp://127.0.0.1:%d" % listener.getsockname()[1]
            rank = self.start(["--multiprocessing-distributed", "--devices", 2,
                               "--dist-url", url])
            self.assertEqual(rank.end(), 1)
        self.assertEqual(rank.err, [f"lockstep: {url}: cannot listen: Address already "
                                    "in use; fix: stop the program that is listening "
                                    "there, or use another port"])
        self.assertEqual(group_members(rank.pid), [])

    def test_world_sizes_that_differ(self):
        url = f"tcp://127.0.0.1:{free_port()}"
        first, second, wrong = self.by_hand(url, (3, 3, 4), (0, 1, 2),
                                            more=["--timeout", 5])
        for rank in (first, second, wrong):
            self.assertEqual(rank.end(), 1)
        self.assertRegex(wrong.err[0], r"rank [012] \(pid \d+ on \S+\) has world size "
                                       r"\d, but rank [012] \(pid \d+ on \S+\) has")

    def test_options_that_differ(self):
        url = f"tcp://127.0.0.1:{free_port()}"
        words = ["-b", 4, "--lr", 0.2, "--dist-backend", "gloo"]
        ranks = [self.start(["--world-size", 2, "--rank", rank, "--dist-url", url,
                             *(words if rank else [])]) for rank in (0, 1)]
        for rank in ranks:
            self.assertEqual(rank.end(), 1)
            self.assertRegex(rank.err[0], r"rank 1 has --dist-backend gloo, "
                             r"--batch-size 4, --lr 0.2, but rank 0 has "
                             r"--dist-backend ring, --batch-size \d+, --lr 0.1; "
                             r"fix: start all ranks with the same options")

    def test_device_types_that_differ(self):
        url = f"tcp://127.0.0.1:{free_port()}"
        ranks = [self.start(["--world-size", 2, "--rank", rank, "--dist-url", url,
                             *(["--device-type", "null"] if rank else [])])
                 for rank in (0, 1)]
        for rank in ranks:
            self.assertEqual(rank.end(), 1)
            self.assertIn("rank 1 has --device-type null, but rank 0 has --device-type "
                          "reference", rank.err[0])

    def test_recipes_that_differ(self):
        recipe = {"--schedule": "cosine", "--accumulate": 2, "--label-smoothing": 0.1,
                  "--clip-grad-norm": 5, "--norm-weight-decay": 0, "--stem": "imagenet",
                  "--warmup-epochs": 1}
        url = f"tcp://127.0.0.1:{free_port()}"
        words = [word for pair in recipe.items() for word in pair]
        words += ["--scale-lr", "--no-augment", "--checkpoint", self.path("c")]
        ranks = [self.start(["--world-size", 2, "--rank", rank, "--dist-url", url,
                             *(words if rank else [])]) for rank in (0, 1)]
        for rank in ranks:
            self.assertEqual(rank.end(), 1)
            ours, theirs = rank.err[0].split(", but rank 0 has ")
            for flag, value in recipe.items():
                self.assertRegex(ours, rf"{flag} {value}\b")
                self.assertIn(flag, theirs)
            for flag in ("--scale-lr", "--no-augment", "--checkpoint"):
                self.assertIn(flag, ours)
                self.assertIn(f"no {flag}", theirs)
        self.assertFalse(os.path.exists(self.path("c")))

    def test_data_that_differ(self):
        url = f"tcp://127.0.0.1:{free_port()}"
        ranks = [self.start(["--world-size", 2, "--rank", rank, "--dist-url", url,
                             "--length", 60 + rank]) for rank in (0, 1)]
        for rank in ranks:
            self.assertEqual(rank.end(), 1)
        self.assertTrue(any("training samples: " in line
                            for rank in ranks for line in rank.err), ranks[0].err)

    def test_a_time_limit_for_the_start_alone(self):
        """All learn from rank 0 who is missing, and need not wait for longer."""
        url = f"tcp://127.0.0.1:{free_port()}"
        ranks = []
        for rank, more in ((2, []), (0, ["--rdzv-timeout", 3.5])):
            ranks.append(self.start(["--world-size", 4, "--rank", rank, "--dist-url",
                                     url, "--timeout", 600, *more]))
            ranks[-1].wait_for("is waiting for the others")
        for rank in ranks:
            self.assertEqual(rank.end(), 1)
            self.assertIn("ranks 1 and 3 did not join within", rank.err[0])
            self.assertIn("fix: start all ranks within --rdzv-timeout", rank.err[0])

    def test_ctrl_c_while_waiting(self):
        for where in f"tcp://127.0.0.1:{free_port()}", f"file://{self.path('store')}":
            rank = self.start(["--world-size", 2, "--rank", 0, "--dist-url", where,
                               "--timeout", 600])
            rank.wait_for("is waiting for the others", 1)
            rank.signal(signal.SIGINT)
            self.assertEqual(rank.end(), 130)

    def test_the_examples_default_address(self):
        _, error = run(*ONE, "--world-size", 2, "--rank", 0, code=1)
        self.assertIn("224.66.41.62 is a multicast address, on which no process "
                      "can listen; use the address of the node with rank 0", error)

    def test_a_rank_outside_the_world(self):
        _, error = run(*ONE, "--world-size", 2, "--rank", 2, "--dist-url",
                       f"tcp://127.0.0.1:{free_port()}", code=1)
        self.assertIn("rank 2 is out of range for world size 2", error)
        _, error = run(*ONE, "--multiprocessing-distributed", "--world-size", 2,
                       "--rank", 2, code=1)
        self.assertIn("must be from 0 to 1 with --world-size 2", error)


class Nodes(Machines):
    """The original project's command for two machines, in two network namespaces."""

    def test_two_nodes_of_two_devices(self):
        nodes = [Run([*ONE, "--multiprocessing-distributed", "--world-size", 2,
                      "--rank", node, "--devices", 2, "--dist-backend", "nccl",
                      "--dist-url", "tcp://10.77.0.1:2345", "--steps", 3, "-p", 1],
                     before=self.on(node))
                 for node in (0, 1)]
        for node in nodes:
            self.addCleanup(node.kill)
        for node in nodes:
            self.assertEqual(node.end(), 0, node.err)
            self.assertEqual(node.err, [])
        self.assertIn("=> starting 4 DistributedDataParallel processes, rendezvous at "
                      "tcp://10.77.0.1:2345", nodes[0].out)
        steps = [sum(STEP in line for line in node.out) for node in nodes]
        self.assertEqual(steps, [3, 0])

    def test_ctrl_c_on_one_node_ends_both(self):
        nodes = [Run([*ONE, "--multiprocessing-distributed", "--world-size", 2,
                      "--rank", node, "--devices", 1, "--epochs", 10**6, "-p", 1,
                      "--dist-url", "tcp://10.77.0.1:2345"],
                     before=self.on(node))
                 for node in (0, 1)]
        for node in nodes:
            self.addCleanup(node.kill)
        nodes[0].wait_for(STEP, 3)
        nodes[1].signal(signal.SIGINT)
        for node in nodes:
            node.end()
            self.assertEqual(group_members(node.pid), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
