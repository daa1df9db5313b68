"""Launchers other than ours: those installed here, and their variables by hand."""

import os
import shutil
import socket
import unittest

from ranks import STEP, TOY, Run, free_port
from support import TempTest, run

ONE = [*TOY, "--length", 60, "--timeout", 20, "--steps", 2, "-p", 1]
ENV = ["--dist-url", "env://"]
PLAIN = {name: "" for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")}


class Launchers(TempTest):
    def start(self, words, **how):
        started = Run([*ONE, *words], **how)
        self.addCleanup(started.kill)
        return started

    def launched(self, before, words):
        return self.start([*ENV, *words], before=before)

    def trains_together(self, before, by, words=()):
        started = self.launched(before, words)
        self.assertEqual(started.end(), 0, started.err)
        text = "\n".join(started.out)
        self.assertEqual(text.count(STEP), 2, text)
        for rank in 0, 1:
            self.assertIn(f"=> rank {rank} of 2 ({by}: local rank {rank} of 2) is "
                          "waiting", text)
        self.assertIn("batch 6, 3 on each", text)

    def is_refused(self, before, by, variable):
        started = self.start([], before=before)
        self.assertNotEqual(started.end(), 0)
        self.assertIn(f"lockstep: {by} started 2 processes ({variable}=2), but without "
                      "--dist-url each would train alone; fix: add --dist-url env://",
                      "\n".join(started.err))

    def program(self, name):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed")
        return name

    def test_open_mpi(self):
        before = [self.program("mpirun.openmpi"), "--oversubscribe", "-np", "2"]
        if os.geteuid() == 0:
            before.append("--allow-run-as-root")
        self.trains_together(before, "Open MPI")
        self.trains_together([*before, "sh", "-c", '"$0" "$@"'], "Open MPI")
        self.is_refused(before, "Open MPI", "OMPI_COMM_WORLD_SIZE")

    def test_mpich(self):
        before = [self.program("mpiexec.hydra"), "-np", "2"]
        self.trains_together(before, "MPICH")
        self.is_refused(before, "MPICH", "PMI_SIZE")

    def ranks(self, words, of_rank, **more):
        ranks = [self.start([*ENV, *words], **{**PLAIN, **of_rank(rank), **more})
                 for rank in (0, 1)]
        for rank in ranks:
            self.assertEqual(rank.end(), 0, rank.err)
        self.assertEqual(sum(STEP in line for line in ranks[0].out), 2)
        return ranks

    def test_slurms_tasks(self):
        ranks = self.ranks([], lambda rank: {
            "SLURM_JOB_ID": os.getpid(), "SLURM_STEP_ID": 0, "SLURM_PROCID": rank,
            "SLURM_LOCALID": rank, "SLURM_NODEID": 0, "SLURM_STEP_NUM_TASKS": 2,
            "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_STEP_NODELIST": "nowhere"})
        self.assertIn("(Slurm: local rank 1 of 2)", ranks[1].out[0])

    def torchruns(self, rank, port):
        return {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank,
                "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": 0,
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": 0}

    def test_torchrun_whose_agent_owns_the_port(self):
        with socket.create_server(("127.0.0.1", 0)) as agent:
            port = agent.getsockname()[1]
            ranks = self.ranks([], lambda rank: self.torchruns(rank, port),
                               TORCHELASTIC_USE_AGENT_STORE="True")
        self.assertIn("torchrun: local rank 0 of 2) is waiting for the others at "
                      "local://", ranks[0].out[0])

    def test_torchrun_that_leaves_the_port(self):
        port = free_port()
        ranks = self.ranks([], lambda rank: self.torchruns(rank, port),
                           TORCHELASTIC_USE_AGENT_STORE="False")
        self.assertIn("at env://", ranks[0].out[0])
        _, error = run(*ONE, *ENV, "--multiprocessing-distributed", code=2,
                       **{name: str(value)
                          for name, value in self.torchruns(0, port).items()})
        self.assertIn("torchrun started 2 processes on this node", error)

    def test_nodes_by_the_environment_as_in_main_py(self):
        port = free_port()
        nodes = [self.start([*ENV, "--multiprocessing-distributed", "--devices", 2],
                            RANK=node, WORLD_SIZE=2, MASTER_ADDR="127.0.0.1",
                            MASTER_PORT=port) for node in (0, 1)]
        for node in nodes:
            self.assertEqual(node.end(), 0, node.err)
        self.assertIn("=> launched by the environment: node 0 of 2", nodes[0].out)
        self.assertIn("=> starting 4 DistributedDataParallel processes, rendezvous at "
                      "env://", nodes[0].out)
        text = "\n".join(nodes[0].out)
        self.assertIn("batch 12, 3 on each", text)
        self.assertEqual([sum(STEP in line for line in node.out) for node in nodes],
                         [2, 0])

    def test_what_is_not_used_is_an_error(self):
        _, error = run(*ONE, code=2, RANK="0", WORLD_SIZE="2")
        self.assertIn("the environment started 2 processes (WORLD_SIZE=2)", error)
        _, error = run(*ONE, *ENV, code=1, SLURM_JOB_ID="1", SLURM_STEP_ID="0",
                       SLURM_PROCID="1", SLURM_STEP_NUM_TASKS="2", RANK="0",
                       WORLD_SIZE="2")
        self.assertIn("Slurm says that this is process 1 of 2", error)
        _, error = run(*ONE, "--world-size", 2, "--dist-url", "tcp://127.0.0.1:1",
                       code=2)
        self.assertIn("fix: add --rank, from 0 to 1", error)

    def test_launch_on_the_nodes_of_a_launcher(self):
        port = free_port()
        launch = ["launch", "--nproc-per-node", 2, *ONE]
        nodes = [Run(launch, SLURM_JOB_ID=os.getpid(), SLURM_STEP_ID=0,
                     SLURM_PROCID=node, SLURM_NODEID=node, SLURM_STEP_NUM_TASKS=2,
                     SLURM_STEP_TASKS_PER_NODE="1(x2)", MASTER_ADDR="127.0.0.1",
                     MASTER_PORT=port) for node in (0, 1)]
        for node in nodes:
            self.addCleanup(node.kill)
        for node in nodes:
            self.assertEqual(node.end(), 0, node.err)
        self.assertIn("=> launched by Slurm: node 0 of 2, rendezvous at "
                      f"127.0.0.1:{port}", nodes[0].out)
        self.assertEqual([sum(STEP in line for line in node.out) for node in nodes],
                         [2, 0])

    def test_errors_name_the_variable_that_was_given(self):
        for name, value in (("PET_NPROC_PER_NODE", "two"), ("PET_NNODES", "1:2"),
                            ("PET_MAX_RESTARTS", "x"), ("PET_MASTER_PORT", "0")):
            _, error = run("launch", *ONE, code=2, **{name: value})
            self.assertIn(f"({name}={value})", error)
            self.assertEqual(len(error.splitlines()), 1)

    def test_variables_of_kubeflow_for_launch(self):
        port = free_port()
        job = {"PET_NNODES": 2, "PET_NPROC_PER_NODE": 1, "PET_RDZV_BACKEND": "c10d",
               "PET_RDZV_ENDPOINT": f"127.0.0.1:{port}", "PET_RDZV_ID": "job"}
        nodes = [Run(["launch", *ONE], **job, PET_NODE_RANK=node) for node in (0, 1)]
        for node in nodes:
            self.addCleanup(node.kill)
        for node in nodes:
            self.assertEqual(node.end(), 0, node.err)
        self.assertEqual([sum(STEP in line for line in node.out) for node in nodes],
                         [2, 0])


if __name__ == "__main__":
    unittest.main()
