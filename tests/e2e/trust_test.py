"""Secrets and run ids: who may take part in a job, and the errors if they differ."""

import socket
import sys
import threading
import unittest

from ranks import STEP, TOY, Run, free_port
from support import TempTest, run

SECRET = "correct horse battery staple"


class Trust(TempTest):
    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def pair(self, first, second, timeouts=(20, 20)):
        """Starts two ranks by hand, with their variables. Rank 1 comes when rank 0 is
        there."""
        url, ranks = f"tcp://127.0.0.1:{free_port()}", []
        for rank, variables in enumerate((first, second)):
            ranks.append(Run([*TOY, "--length", 60, "--timeout", timeouts[rank],
                              "--dist-url", url, "--world-size", 2, "--rank", rank,
                              "--steps", 2, "-p", 1], **variables))
            self.addCleanup(ranks[-1].kill)
            ranks[0].wait_for("is waiting for the others")
        return ranks

    def all_train(self, ranks):
        for rank in ranks:
            self.assertEqual(rank.end(), 0, rank.err)
        self.assertEqual(sum(STEP in line for line in ranks[0].out), 2)

    def never_printed(self, ranks):
        for rank in ranks:
            self.assertNotIn("battery", "".join([*rank.out, *rank.err]))

    def test_the_same_secret(self):
        file = self.write("secret", SECRET + "\n")
        ranks = self.pair({"LOCKSTEP_SECRET": SECRET, "LOCKSTEP_RUN_ID": "seven"},
                          {"LOCKSTEP_SECRET_FILE": file, "LOCKSTEP_RUN_ID": "seven"})
        self.all_train(ranks)
        self.never_printed(ranks)

    def differ(self, *cases):
        """Each case: the variables of two ranks, and why rank 1 is refused."""
        pairs = [self.pair(first, second, timeouts=(5, 60))
                 for first, second, _ in cases]
        for ranks, (_, _, why) in zip(pairs, cases):
            self.assertEqual([rank.end() for rank in ranks], [1, 1])
            self.assertIn("this rank " + why, ranks[1].err[0])
            self.assertIn("rank 1 did not join within 5 s; a process at 127.0.0.1 was "
                          "refused: it " + why, ranks[0].err[0])
            self.assertEqual([len(rank.err) for rank in ranks], [1, 1])
            self.never_printed(ranks)

    def test_secrets_that_differ(self):
        fix = "; fix: set LOCKSTEP_SECRET or LOCKSTEP_SECRET_FILE to the same secret"
        self.differ(({"LOCKSTEP_SECRET": SECRET}, {"LOCKSTEP_SECRET": "battery"},
                     "has another secret than rank 0" + fix),
                    ({"LOCKSTEP_SECRET": SECRET}, {},
                     "has no secret, but rank 0 has one" + fix),
                    ({}, {"LOCKSTEP_SECRET": SECRET},
                     "has a secret, but rank 0 has none" + fix))

    def test_run_ids_that_differ(self):
        self.differ(({"LOCKSTEP_RUN_ID": "monday"}, {"LOCKSTEP_RUN_ID": "tuesday"},
                     'belongs to run "tuesday", but rank 0 to run "monday"; fix: use '
                     "another port for each job"))

    def test_files_that_are_no_secret(self):
        ddp = [*TOY, "--dist-url", "tcp://127.0.0.1:1", "--world-size", 2, "--rank", 1]
        _, error = run(*ddp, code=1, LOCKSTEP_SECRET_FILE=self.path("none"))
        self.assertIn(f"{self.path('none')}: cannot be read: No such file", error)
        empty = self.write("empty", "\n")
        _, error = run(*ddp, code=1, LOCKSTEP_SECRET_FILE=empty)
        self.assertIn("is empty; fix: write the job's secret to it", error)
        _, error = run(*ddp, code=1, LOCKSTEP_SECRET_FILE=empty, LOCKSTEP_SECRET="x")
        self.assertIn("LOCKSTEP_SECRET and LOCKSTEP_SECRET_FILE are both set", error)

    def test_ranks_of_one_machine_need_no_secret_of_the_users(self):
        """A untrusted who knows the port cannot take part, although none was given."""
        port = free_port()
        job = Run([*TOY, "--length", 60, "--dist-url", f"tcp://127.0.0.1:{port}",
                   "--multiprocessing-distributed", "--devices", 2, "-p", 1,
                   "--epochs", 10**6])
        self.addCleanup(job.kill)
        job.wait_for(STEP, 2)
        _, error = run(*TOY, "--dist-url", f"tcp://127.0.0.1:{port}", "--world-size", 3,
                       "--rank", 2, code=1)
        self.assertIn("this rank has no secret, but rank 0 has one", error)
        job.go_on()

    def test_unauthenticated_do_not_stall_a_job(self):
        """Hundreds of connections are silent or send garbage; all steps are made."""
        port = free_port()
        held, stop = [], threading.Event()

        def disturb():
            while not stop.is_set():
                try:
                    untrusted = socket.create_connection(("127.0.0.1", port), 5)
                    untrusted.setblocking(False)
                    if len(held) % 2:
                        untrusted.send(b"LKS3\1\0\0\0\xff\xff\xff\xff" + b"x" * 5000)
                    held.append(untrusted)
                except OSError:
                    stop.wait(0.01)
        attacker = threading.Thread(target=disturb)
        attacker.start()
        try:
            self.all_train([Run([*TOY, "--length", 60, "--steps", 2, "-p", 1,
                                 "--dist-url", f"tcp://127.0.0.1:{port}",
                                 "--multiprocessing-distributed", "--devices", 3])])
        finally:
            stop.set()
            attacker.join()
            for untrusted in held:
                untrusted.close()
        self.assertGreater(len(held), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
