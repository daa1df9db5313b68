"""Starts a job on two machines (machines.py) by any launcher that is installed here,
with an address of rank 0's machine in any form."""

import os
import shutil
import signal
import subprocess

from jobs import TORCH, TORCHRUN, Torchrun, wait_until
from machines import Machines
from ranks import Run

NAMES = ["head", "node"]  # machine 0 and machine 1
AHEAD = 100000  # seconds of machine 1's clock
IPV4, IPV6 = ["10.77.0.1", "10.77.0.2"], ["fd77::1", "fd77::2"]
ENV = ["--dist-url", "env://"]


class Address:
    """The address of rank 0 in each machine's command, and each machine's hosts."""

    def __init__(self, title, told, hosts=None, late="", same=False, file=False):
        self.title, self.told, self.late, self.file = title, told, late, file
        self.hosts = hosts or [f"{IPV4[0]} head", f"{IPV4[0]} head"]
        self.same = same  # whether every machine may be told the same
        self.is_name = told[0] == "head"


ADDRESSES = [
    Address("IPv4", IPV4[:1] * 2, same=True),
    Address("IPv6", IPV6[:1] * 2, same=True),
    Address("own name, 127.0.1.1 there", ["head"] * 2, ["127.0.1.1 head",
            f"{IPV4[0]} head"], same=True),
    Address("`localhost` there", ["localhost", IPV4[0]]),
    Address("0.0.0.0 there", ["0.0.0.0", IPV4[0]]),
    Address("name, IPv6 first there", ["head"] * 2, [
            f"{IPV6[0]} head\n{IPV4[0]} head", f"{IPV4[0]} head"], same=True),
    Address("name that appears later", ["head"] * 2, [f"{IPV4[0]} head", ""],
            late=f"{IPV4[0]} head", same=True),
    Address("shared file", IPV4[:1] * 2, same=True, file=True),
]


def in_url(host):
    return f"[{host}]" if ":" in host else host


class Pair(Machines):
    """Two machines with names, and an /etc/hosts of their own."""

    def setUp(self):
        super().setUp()
        self.slurm = None
        for name, address in zip(self.names, IPV6):
            self.ip("-n", name, "addr", "add", f"{address}/64", "dev", "wire", "nodad",
                    wanted=0)
        self.know([f"{IPV4[0]} head"] * 2)
        self.holders = [self.hold(machine) for machine in (0, 1)]

    def know(self, hosts):
        """Replaces what each machine knows."""
        for machine, lines in enumerate(hosts):
            common = f"127.0.0.1 localhost\n{IPV4[1]} node\n"
            with open(self.path(f"hosts{machine}"), "w", encoding="utf-8") as file:
                file.write(common + (f"{lines}\n" if lines else ""))

    def learn(self, machine, line):
        with open(self.path(f"hosts{machine}"), "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def at(self, machine):
        """The prefix of a command for a machine with its name, /etc/hosts and clock."""
        return ["nsenter", "--target", self.holders[machine], "--net", "--mount",
                "--uts", "--time"]

    def hold(self, machine):
        """Starts a process whose namespaces are the machine's; returns its pid. (`ip
        netns exec` would hide the control groups in /sys, which slurmd wants.)"""
        clock = ["unshare", "--time", "--monotonic", str(machine * AHEAD)]
        holder = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.names[machine]}", *clock, "unshare",
             "--mount", "--uts", "sh", "-c", "mount --bind $0 /etc/hosts && hostname "
             "$1 && { sleep infinity & echo $!; wait; }", self.path(f"hosts{machine}"),
             NAMES[machine]], stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdout.close)
        pid = holder.stdout.readline().strip()
        self.addCleanup(os.kill, int(pid), signal.SIGTERM)
        return pid

    def script(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(self.path(name), 0o755)
        return self.path(name)

    def remote_shell(self):
        """A program in the role of rsh: HOST COMMAND …"""
        prefix = " ".join(f"'{word}'" for word in self.at(1))
        return self.script("rsh", f"shift\nexec {prefix} sh -c \"$*\"\n")


class Launcher:
    """By hand, one process per rank: two ranks on each machine."""

    name, by, per_node = "env://, by hand", "the environment", 2
    one_command = False  # whether every rank is told the same
    is_node = False  # whether a process counts as one, with a batch of its own
    asks = ENV

    def __init__(self, pair, address, port):
        self.pair, self.address, self.port = pair, address, port
        if address.file:
            self.asks = ["--dist-url", f"file://{pair.path(f'store{port}')}"]

    @classmethod
    def missing(cls):
        return ""

    @classmethod
    def can(cls, address):
        return address.same or not cls.one_command

    def master(self, machine):
        told = self.address.told[machine]
        return {"MASTER_ADDR": told, "MASTER_PORT": str(self.port)}

    def url(self, machine):
        if self.address.file:
            return self.asks[1]
        return f"tcp://{in_url(self.address.told[machine])}:{self.port}"

    def batch(self, of_rank):
        return ["-b", of_rank * (1 if self.is_node else self.per_node)]

    def run(self, machine, words, before=(), **variables):
        return Run(words, before=[*self.pair.at(machine), *map(str, before)],
                   **variables)

    def start(self, words):
        return [self.run(machine, [*words, *self.asks], RANK=2 * machine + local,
                         WORLD_SIZE=4, LOCAL_RANK=local, LOCAL_WORLD_SIZE=2,
                         **self.master(machine))
                for machine in (0, 1) for local in (0, 1)]

    def says(self, rank):
        """A line of output that tells a rank's place."""
        return (f"=> rank {rank} of {2 * self.per_node} ({self.by}: local rank "
                f"{rank % self.per_node} of {self.per_node}) is waiting")

    def said(self):
        """The lines of output that tell the places."""
        return [self.says(rank) for rank in range(2 * self.per_node)]


class ByOptions(Launcher):
    name, is_node = "tcp://, by hand", True

    def start(self, words):
        return [self.run(machine, [*words, "--dist-url", self.url(machine),
                                   "--world-size", 4, "--rank", 2 * machine + local])
                for machine in (0, 1) for local in (0, 1)]

    def says(self, rank):
        return f"=> rank {rank} of 4 is waiting for the others at "


class Launch(Launcher):
    name = "`launch`"

    @classmethod
    def can(cls, address):
        return not address.file

    def start(self, words):
        return [self.run(machine, ["launch", "--nnodes", 2, "--node-rank", machine,
                                   "--nproc-per-node", 2, "--master-addr",
                                   self.address.told[machine], "--master-port",
                                   self.port, *words]) for machine in (0, 1)]

    def said(self):
        return []


class Multiprocessing(Launcher):
    """RANK and WORLD_SIZE count nodes."""

    name = "`--multiprocessing-distributed`, env://"

    def start(self, words):
        return [self.run(machine, [*words, *self.asks, "--multiprocessing-distributed",
                                   "--devices", 2], RANK=machine, WORLD_SIZE=2,
                         **self.master(machine)) for machine in (0, 1)]

    def said(self):
        return ["=> launched by the environment: node 0 of 2",
                "=> launched by the environment: node 1 of 2",
                "=> starting 4 DistributedDataParallel processes, rendezvous at "]


class MultiprocessingByOptions(Multiprocessing):
    name = "`--multiprocessing-distributed`, tcp://"

    def start(self, words):
        return [self.run(machine, [*words, "--multiprocessing-distributed", "--devices",
                                   2, "--dist-url", self.url(machine), "--world-size",
                                   2, "--rank", machine]) for machine in (0, 1)]

    def said(self):
        return super().said()[2:]


class PyTorchJob(Launcher):
    """The variables of Kubeflow's operator, by hand: one rank in each pod."""

    name, by, per_node = "PyTorchJob's variables", "PyTorchJob", 1

    def start(self, words):
        return [self.run(pod, [*words, *self.asks], RANK=pod, WORLD_SIZE=2,
                         PET_NNODES=2, PET_NODE_RANK=pod, PET_RDZV_BACKEND="static",
                         PYTHONUNBUFFERED=0, KUBERNETES_SERVICE_HOST="10.96.0.1",
                         **self.master(pod)) for pod in (0, 1)]

    def says(self, rank):
        return f"=> rank {rank} of 2 (PyTorchJob) is waiting for the others at "


class Static(Launcher):
    """Its agent on machine 0 tells the ranks of both machines its own --master_addr."""

    name, by, one_command = "torchrun 1.13, static", "torchrun", True
    missing = Torchrun.missing

    def place(self, machine):
        return ["--node_rank", machine, "--master_addr", self.address.told[machine],
                "--master_port", self.port]

    def start(self, words):
        return [self.run(machine, [*words, *self.asks], [
            TORCH, "-c", TORCHRUN, "--no_python", "--nnodes", 2, "--nproc_per_node", 2,
            "--monitor_interval", 1, *self.place(machine)]) for machine in (0, 1)]


class C10d(Static):
    """MASTER_ADDR is the name of the machine whose agent has rank 0."""

    name, one_command = "torchrun 1.13, c10d", False

    def place(self, machine):
        told = in_url(self.address.told[machine])
        return ["--rdzv_backend", "c10d", "--rdzv_id", f"job{self.port}",
                "--rdzv_endpoint", f"{told}:{self.port}",
                "--rdzv_conf", f"is_host={1 - machine}"]


class OpenMpi(Launcher):
    """It starts processes on machine 1 by a program in the role of ssh."""

    name, by, one_command = "Open MPI 4.1", "Open MPI", True
    program = "mpirun.openmpi"

    @classmethod
    def missing(cls):
        return "" if shutil.which(cls.program) else f"{cls.program} is not installed"

    def before(self):
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [self.program, *root, "-np", 4, "-H", f"{IPV4[0]}:2,{IPV4[1]}:2",
                "--bind-to", "none", "--mca", "plm_rsh_agent", self.pair.remote_shell(),
                "--mca", "btl_tcp_if_include", "wire", "--mca", "ras", "^slurm",
                *(word for name in self.master(0) for word in ("-x", name))]

    def start(self, words):
        return [self.run(0, [*words, *self.asks], self.before(), **self.master(0))]


class Mpich(OpenMpi):
    name, by, program = "MPICH 4.0", "MPICH", "mpiexec.hydra"

    def before(self):
        return [self.program, "-launcher", "rsh", "-launcher-exec",
                self.pair.remote_shell(), "-n", 4, "-hosts",
                f"{IPV4[0]}:2,{IPV4[1]}:2", "-genvall"]


class Srun(Launcher):
    """A controller on machine 0, and a daemon on each. A name is that of the first node
    of the job: nothing else tells where rank 0 is."""

    name, by, one_command = "`srun` 22.05", "Slurm", True

    @classmethod
    def missing(cls):
        wanted = ("srun", "slurmctld", "slurmd", "munged")
        return "" if all(map(shutil.which, wanted)) else "slurm-wlm is not installed"

    def start(self, words):
        conf = slurm_of(self.pair)
        told = {} if self.address.is_name else self.master(0)
        return [self.run(0, [*words, *self.asks], [
            "srun", "--nodes", 2, "--ntasks", 4, "--ntasks-per-node", 2, "--wait", 20],
            SLURM_CONF=conf, **told)]


SLURM = """ClusterName=pair
SlurmctldHost=head(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/linear
SlurmdParameters=config_overrides
NodeName=head NodeAddr=10.77.0.1 CPUs=4
NodeName=node NodeAddr=10.77.0.2 CPUs=4
PartitionName=all Nodes=head,node Default=YES State=UP
"""


def slurm_of(pair):
    """Starts Slurm's daemons on both machines, once. Returns the configuration."""
    if pair.slurm:
        return pair.slurm
    folder = pair.path("slurm")
    for name in "state", "spool.head", "spool.node":
        os.makedirs(f"{folder}/{name}")
    os.chmod(pair.folder, 0o755)  # munge refuses a socket that others cannot reach
    pair.slurm = folder + "/slurm.conf"
    with open(pair.slurm, "w", encoding="utf-8") as file:
        file.write(SLURM.format(folder=folder))
    with open(folder + "/key", "wb") as file:
        file.write(os.urandom(1024))
    os.chmod(folder + "/key", 0o400)
    socket = f"{folder}/munge"
    munge = ["munged", "--foreground", "--force", f"--socket={socket}",
             f"--key-file={folder}/key", f"--pid-file={folder}/munge.pid",
             f"--log-file={folder}/munge.log", f"--seed-file={folder}/seed"]
    programs = [munge, [*pair.at(0), "slurmctld", "-D"],
                *([*pair.at(machine), "slurmd", "-D"] for machine in (0, 1))]
    environment = {**os.environ, "SLURM_CONF": pair.slurm}
    for number, program in enumerate(programs):
        with open(f"{folder}/log{number}", "w", encoding="utf-8") as log:
            daemon = subprocess.Popen(program, env=environment, stdout=log, stderr=log)
        pair.addCleanup(daemon.wait)
        pair.addCleanup(daemon.terminate)
        if number == 0 and not wait_until(lambda: os.path.exists(socket), 10):
            raise AssertionError("munged does not start")

    def is_idle():
        asked = subprocess.run([*pair.at(0), "sinfo", "--noheader", "--states", "idle",
                                "--format", "%D"], env=environment, check=False,
                               capture_output=True, text=True)
        return asked.stdout.strip() == "2"
    if not wait_until(is_idle, 60):
        raise AssertionError("Slurm's nodes are not idle")
    return pair.slurm


LAUNCHERS = [ByOptions, Launcher, Launch, MultiprocessingByOptions, Multiprocessing,
             Static, C10d, OpenMpi, Mpich, Srun, PyTorchJob]
