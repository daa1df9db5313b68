#!/usr/bin/env python3
"""How much strangers slow a job: DDP on two processes with and without attacks.

Runs with and without an attacker alternate. The attacker has a low priority (`nice -n
19`), so that the CPU that it uses itself counts little. It attacks the store's port and
the ports of the ranks' ring until the run ends. The time of a run is that of its steps
(`--summary`), without the start; its CPU time is that of both ranks. The ratio is that
of a pair of runs. With `--one-by-one`, each attack has its own pairs. The default job
has steps of half a millisecond, nearly all of them messages: the one that is the
easiest to disturb. `--job` replaces its options.

    tests/bench/trust.py [--pairs 5] [--steps 4000] [--one-by-one]
                         [--job "-a resnet18 --dataset generated -b 16"]
"""
import argparse
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LOCKSTEP = os.path.join(HERE, "../../build/release/lockstep")
SECRET = "known to the ranks only"
TOY = "-a toy --device-type reference -b 64 --length 64000"


def connected(port):
    stranger = socket.create_connection(("127.0.0.1", port), 2)
    stranger.setblocking(False)
    return stranger


def sends(payload):
    """An attack: a connection on which the stranger sends what `payload` returns."""
    def attack(port, held):
        held.append(connected(port))
        held[-1].send(payload())
    return attack


def frame(op, *fields, magic=b"LKS3"):
    """A request of the store's protocol."""
    body = b"".join(len(f).to_bytes(4, "little") + f for f in fields)
    return magic + op.to_bytes(4, "little") + len(body).to_bytes(4, "little") + body


def silence(port, held):
    held.append(connected(port))


def open_and_close(port, held):
    connected(port).close()


def reset(port, held):
    """The system's answer to the rank is an error instead of an end."""
    stranger = connected(port)
    stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    stranger.close()


def drip(port, held):
    """A byte now and then, on connections that stay open."""
    if len(held) < 200:
        held.append(connected(port))
    held[random.randrange(len(held))].send(b"L")


def half_closed(port, held):
    held.append(connected(port))
    held[-1].shutdown(socket.SHUT_WR)


def flood(port, held):
    """As many bytes as the other side takes."""
    stranger = connected(port)
    held.append(stranger)
    for _ in range(64):
        stranger.send(b"x" * 65536)


ATTACKS = {
    "set failed/1": sends(lambda: frame(1, b"failed/1", b"no")),
    "a rank's hello": sends(lambda: (1).to_bytes(8, "little")),
    "large values": sends(lambda: frame(1, b"key", b"x" * 100_000)),
    "pings": sends(lambda: frame(0) * 20),
    "silence": silence,
    "garbage": sends(lambda: random.randbytes(512)),
    "a length of 4 GB": sends(lambda: b"LKS3\1\0\0\0\xff\xff\xff\xff" + b"x" * 64),
    "a hello without an end": sends(lambda: frame(12, b"n" * 16)),
    "a wrong token": sends(lambda: b"LKSR00000001" + b"0" * 32),
    "HTTP": sends(lambda: b"GET / HTTP/1.1\r\nHost: rank\r\n\r\n"),
    "open and close": open_and_close,
    "reset": reset,
    "drip": drip,
    "half-closed": half_closed,
    "flood": flood,
}


def attack_until_killed(names, ports):
    """What a child does: all attacks in turn on each port, 100 a second at most."""
    held = []
    while True:
        for name in names:
            for port in ports:
                try:
                    ATTACKS[name](port, held)
                except (OSError, ValueError):
                    pass  # refused, full or closed: as hoped
                time.sleep(0.01)
        while len(held) > 600:
            held.pop(0).close()


def listening_ports(pids):
    """The TCP ports on which these processes listen."""
    inodes = set()
    for pid in pids:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(entry.path)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    ports = set()
    for table in "/proc/net/tcp", "/proc/net/tcp6":
        with open(table) as rows:
            for words in map(str.split, list(rows)[1:]):
                if words[3] == "0A" and words[9] in inodes:
                    ports.add(int(words[1].split(":")[1], 16))
    return sorted(ports)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def has_ended(process):
    """Leaves the process to os.wait4, which tells its CPU time, too."""
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, how) is not None


def text_of(log):
    log.seek(0)
    return log.read()


def run(job, steps, attacks):
    """Trains. Returns the seconds of all steps, the CPU seconds of the ranks, and the
    ports that were attacked."""
    port, attackers = free_port(), []
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        words = [LOCKSTEP, "train", *job.split(), "--epochs", "1000000",
                 "--steps", str(steps),
                 "-p", "1000", "--dist-backend", "ring", "--world-size", "2",
                 "--dist-url", f"tcp://127.0.0.1:{port}", "--summary", summary]
        logs = [open(os.path.join(folder, f"{rank}.log"), "w+") for rank in (0, 1)]
        ranks = [subprocess.Popen([*words, "--rank", str(rank)], stdout=logs[rank],
                                  stderr=subprocess.STDOUT,
                                  env={**os.environ, "LOCKSTEP_SECRET": SECRET})
                 for rank in (0, 1)]
        while not has_ended(ranks[0]) and "Epoch: [" not in text_of(logs[0]):
            time.sleep(0.02)
        ports = listening_ports([rank.pid for rank in ranks])
        if attacks:
            attackers = [subprocess.Popen(
                ["nice", "-n", "19", sys.executable, __file__, "--attack",
                 json.dumps([attacks, ports])])]
        ended = [os.wait4(rank.pid, 0) for rank in ranks]
        for rank, (_, status, _) in zip(ranks, ended):
            rank.returncode = os.waitstatus_to_exitcode(status)
        for attacker in attackers:
            attacker.kill()
            attacker.wait()
        ends = [text_of(log)[-300:] for log in logs]
        for log in logs:
            log.close()
        if any(rank.returncode for rank in ranks):
            sys.exit(f"a rank failed during {attacks}: {ends}")
        with open(summary) as file:
            seconds = sum(step["seconds"] for step in json.load(file)["steps"])
        cpu = sum(usage.ru_utime + usage.ru_stime for _, _, usage in ended)
        return seconds, cpu, ports


def compare(name, attacks, args):
    pairs = []
    for pair in range(args.pairs):
        times = {}
        for attacked in (pair % 2 == 0, pair % 2 == 1):
            times[attacked] = run(args.job, args.steps, attacks if attacked else [])
        pairs.append((times[True], times[False]))
    cells = [name]
    for i in (0, 1):  # the clock, the CPU
        cells += [f"{statistics.median(run[i] for run in runs):.2f}"
                  for runs in zip(*pairs)]
        ratios = [attacked[i] / alone[i] for attacked, alone in pairs]
        cells.append(f"{statistics.median(ratios):.3f} "
                     f"({min(ratios):.3f}–{max(ratios):.3f})")
    print("| " + " | ".join([*cells, str(len(times[True][2]))]) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--one-by-one", action="store_true")
    parser.add_argument("--job", default=TOY, help="options of lockstep train")
    parser.add_argument("--attack", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.attack:
        attack_until_killed(*json.loads(args.attack))
    print("| attacks | s, attacked | s, alone | ratio "
          "| CPU s, attacked | CPU s, alone | ratio | ports |")
    print("| --- | ---: | ---: | --- | ---: | ---: | --- | ---: |")
    if args.one_by_one:
        for name in ATTACKS:
            compare(name, [name], args)
    else:
        compare(f"all {len(ATTACKS)}, in turn", list(ATTACKS), args)


if __name__ == "__main__":
    main()
