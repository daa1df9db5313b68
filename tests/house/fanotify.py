"""Linux's fanotify: which files a command and its descendants open.

Needs root with CAP_SYS_ADMIN. It sees opens in all mount namespaces, as long as the
file is on a file system that is marked. The command has a mount namespace of its own:
the id of the mount of an opened file distinguishes it from foreign processes, even when
the process has ended before the event is read.
"""

import ctypes
import os
import resource
import select
import signal
import struct
import subprocess
import time

FAN_CLOEXEC, FAN_NONBLOCK, FAN_UNLIMITED_QUEUE, FAN_UNLIMITED_MARKS = 1, 2, 0x10, 0x20
FAN_MARK_ADD, FAN_MARK_FILESYSTEM = 1, 0x100
FAN_MARK_IGNORED_MASK, FAN_MARK_IGNORED_SURV_MODIFY = 0x20, 0x40
FAN_OPEN, FAN_OPEN_EXEC, FAN_Q_OVERFLOW = 0x20, 0x1000, 0x4000
OPENS = FAN_OPEN | FAN_OPEN_EXEC
AT_FDCWD, PR_SET_CHILD_SUBREAPER = -100, 36
EVENT = struct.Struct("=IBBHQii")  # fanotify_event_metadata
SECONDS_TO_EMPTY = 10  # the queue, after the command has ended
FOLDERS_OF_PACKAGES = ("/", "/usr", "/etc", "/opt", "/var")
FOLDERS_TO_SEARCH = ("/usr", "/etc", "/opt")
DELETED = " (deleted)"
IN_OWN_MOUNTS = ["unshare", "--mount", "--propagation", "slave", "--"]

libc = ctypes.CDLL(None, use_errno=True)
libc.fanotify_mark.argtypes = [ctypes.c_int, ctypes.c_uint, ctypes.c_uint64,
                               ctypes.c_int, ctypes.c_char_p]


def checked(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(),
                      f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


class Group:
    """A queue of opened files. Throws OSError if this process may not have one."""

    def __init__(self):
        self.fd = checked(libc.fanotify_init(
            FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS,
            os.O_RDONLY | os.O_CLOEXEC), "fanotify_init")
        for folder in FOLDERS_OF_PACKAGES:  # they may be on several file systems
            if os.path.isdir(folder):
                checked(libc.fanotify_mark(self.fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM,
                                           OPENS, AT_FDCWD, folder.encode()),
                        f"fanotify_mark {folder}")

    def read(self):
        """The queued (mask, fd, pid); the caller closes the fds. None if nothing is
        queued. Reads no more than this process may have files open."""
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            read = os.read(self.fd, EVENT.size * min(4096, most // 2))
        except BlockingIOError:
            return None
        except OSError:  # one that cannot be opened is no longer queued
            return []
        return [event[4:] for event in EVENT.iter_unpack(read)]

    def forget(self, fd):
        """Further opens of the file are not queued."""
        libc.fanotify_mark(self.fd, FAN_MARK_ADD | FAN_MARK_IGNORED_MASK |
                           FAN_MARK_IGNORED_SURV_MODIFY, OPENS, fd, None)


def stat_of(pid):
    """(name, parent, time of start) of a process; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            before, _, after = file.read().rpartition(")")
    except OSError:
        return None
    words = after.split()
    return before.partition("(")[2], int(words[1]), words[19]


def mounts():
    """The ids of this process's mounts."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return {line.split()[0] for line in file}


def mount_of(fd):
    with open(f"/proc/self/fdinfo/{fd}", encoding="utf-8") as file:
        return dict(line.split(":", 1) for line in file)["mnt_id"].strip()


class Descendants:
    """Of this process, which adopts those whose parents end."""

    def __init__(self):
        self.known = {}  # pid → (time of start, whether it descends)

    def name(self, pid):
        """The name of a descendant, "?" of a process that has ended unseen, "" of a
        foreign one."""
        chain, at, descends = [], pid, None
        while descends is None:
            if at == os.getpid() or at <= 1:
                descends = at == os.getpid()
                break
            stat = stat_of(at)
            started, verdict = self.known.get(at, (None, None))
            if stat is None or stat[2] == started:
                descends = verdict
                break
            chain.append((at, *stat))
            at = stat[1]
        for member, _, _, started in chain:
            if descends is not None:
                self.known[member] = started, descends
        if descends is False:
            return ""
        return chain[0][1] if chain else (stat_of(pid) or "?")[0]


class Opened:
    """The paths that descendants of this process have opened."""

    def __init__(self, ignored):
        self.root = root_from_own_mounts().rstrip("/")
        self.group, self.overflows, self.foreign_mounts = Group(), 0, mounts()
        self.ignored = tuple(folder.rstrip("/") + "/" for folder in ignored)
        self.by = {}  # path → the name of the program that opened it first
        self.unplaced = {}  # (device, inode) → the same
        self.descendants = Descendants()

    def take(self):
        """Notes what is queued. Returns whether there was something."""
        events = self.group.read()
        for mask, fd, pid in events or ():
            if mask & FAN_Q_OVERFLOW:
                self.overflows += 1
            if fd >= 0:
                self.note(fd, pid)
                os.close(fd)
        return events is not None

    def note(self, fd, pid):
        path = os.readlink(f"/proc/self/fd/{fd}").removeprefix(self.root)
        if path in self.by or path.startswith(self.ignored) or path.endswith(DELETED):
            return
        if mount_of(fd) in self.foreign_mounts:
            return
        name = self.descendants.name(pid)
        if not name:
            return
        file = os.fstat(fd)
        if is_at(path, file):
            self.by[path] = name
        else:
            self.unplaced.setdefault((file.st_dev, file.st_ino), name)
        self.group.forget(fd)

    def place(self):
        """Finds files whose paths were those of another mount namespace, by their
        inodes."""
        inodes = {inode for _, inode in self.unplaced}
        folders = list(FOLDERS_TO_SEARCH) if inodes else []
        while folders:
            try:
                entries = list(os.scandir(folders.pop()))
            except OSError:
                continue
            folders += [e.path for e in entries if e.is_dir(follow_symlinks=False)]
            for entry in entries:
                if entry.inode() in inodes and entry.is_file(follow_symlinks=False):
                    file = entry.stat()
                    name = self.unplaced.get((file.st_dev, file.st_ino))
                    if name:
                        self.by.setdefault(entry.path, name)


def is_at(path, file):
    try:
        return os.path.samestat(os.stat(path), file)
    except OSError:
        return False


def root_from_own_mounts():
    """Where the root of this process is, seen from IN_OWN_MOUNTS: "/" except in a
    chroot. Throws OSError if this process may not make mount namespaces."""
    done = subprocess.run([*IN_OWN_MOUNTS, "readlink", "/proc/%d/root" % os.getpid()],
                          capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.returncode, done.stderr.strip())
    return done.stdout.strip()


def start(words):
    """Starts a command, which gets the signals of this process. Returns its pid."""
    both = (signal.SIGINT, signal.SIGQUIT)  # a terminal sends them to the command, too
    passed = (signal.SIGTERM, signal.SIGHUP)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, both + passed)
    child = os.posix_spawnp(words[0], words, os.environ, setsigmask=mask,
                            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
    for number in both + passed:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda sent, _:
                          os.kill(child, sent) if sent in passed else None)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return child


def follow(command, opened):
    """Runs the command until it ends. Returns its status, as os.waitpid does."""
    checked(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = start([*IN_OWN_MOUNTS, *command])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    poll = select.poll()
    poll.register(opened.group.fd, select.POLLIN)
    poll.register(woken, select.POLLIN)
    status = None
    while status is None:
        for ready, _ in poll.poll():
            if ready == woken:
                os.read(woken, 4096)
                status = reap(child, status)
            else:
                opened.take()
    end = time.monotonic() + SECONDS_TO_EMPTY
    while opened.take() and time.monotonic() < end:
        pass
    opened.place()
    return status


def reap(child, status):
    """Also the adopted processes. Returns the child's status if it is among them."""
    try:
        while True:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return status
            if pid == child:
                status = ended
    except ChildProcessError:
        return status
