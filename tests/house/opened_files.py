"""Checks that packages.txt names every package whose files the build or a test opens,
so that a machine that has only these suffices.

    opened_files.py record FILE -- COMMAND…     # adds what the command opens to FILE
    opened_files.py headers BUILD-FOLDER        # what the compilers have read, by ninja
    opened_files.py judge FILE… packages.txt    # 0: all are listed, 1, or 77: skipped

`record` needs root and fanotify; without them it only runs the command. It exits with
the command's code. Compilers that ccache replaces open no headers: those are in the
output of `headers`, which `judge` reads like FILE. A package is covered if packages.txt
lists it (in any section), a covered one depends on it, or it is essential or of
priority required. Recommended packages are not.
"""

import argparse
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys

import dpkg
import fanotify
import run_suites

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
EXAMPLES = 3
# The optional CUDA toolkit (docs/cuda.md), whose packages' names contain versions.
CUDA = re.compile(r"cuda|nvidia|lib(?:cublas|cudnn|nccl|nvidia|nvjitlink)")
# PATH<tab>PROGRAM of what programs read wherever it is installed, whether or not they
# need it: lists of plug-ins, all fonts by Chromium, all libraries by ldconfig, and the
# debugging symbols of what is in a traceback.
INCIDENTAL = re.compile(r"/etc/locale\.alias\t|/etc/ld\.so\.conf\.d/|.*/libnss_[^/]+\t"
                        r"|/usr/lib/python3/dist-packages/[^/]*(?:\.pth\t|-info/)"
                        r"|/usr/share/fonts/.*\tchromium|/usr/lib/debug/"
                        r"|.*\tldconfig$")


def say(text):
    print(f"opened_files: {text}", file=sys.stderr, flush=True)


def ignored_folders():
    folders = ["/tmp", "/var/tmp", "/proc", "/sys", "/dev", "/run", str(ROOT)]
    folders += [os.environ.get("TMPDIR"), os.environ.get("CCACHE_DIR"),
                os.path.expanduser("~/.ccache"), os.path.expanduser("~/.cache")]
    return [folder for folder in folders if folder and folder != "/"]


def read_list(file):
    """path → the program that opened it; the comments of the list."""
    found, comments = {}, []
    for line in file.read_text(errors="surrogateescape").splitlines():
        if line.startswith("#"):
            comments.append(line[1:].strip())
        else:
            path, _, program = line.partition("\t")
            found.setdefault(path, program)
    return found, comments


def write_list(found, comments, file):
    for comment in comments:
        file.write(f"# {comment}\n")
    for path, program in sorted(found.items()):
        if "\n" not in path and "\t" not in path:
            file.write(f"{path}\t{program}\n")


def add_to(file, opened):
    found, comments = read_list(file) if file.exists() else ({}, [])
    if opened.overflows:
        comments.append("the queue overflowed: some files are not here")
    new = file.with_name(file.name + ".new")
    with open(new, "w", encoding="utf-8", errors="surrogateescape") as written:
        write_list({**opened.by, **found}, comments, written)
    new.replace(file)


def record(file, command):
    try:
        opened = fanotify.Opened(ignored_folders())
    except OSError as error:
        say(f"opened files are not recorded: {error.strerror}; fix: run it as root, "
            "with CAP_SYS_ADMIN")
        os.execvp(command[0], command)
    status = fanotify.follow(command, opened)
    add_to(file, opened)
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    if os.WTERMSIG(status) in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)  # a shell stops by it, too
        os.kill(os.getpid(), os.WTERMSIG(status))
    return 128 + os.WTERMSIG(status)


def headers(folder):
    """Also the libraries that the linker is given by name."""
    def ninja(*words):
        return subprocess.run(["ninja", "-C", folder, "--quiet", "-t", *words],
                              check=True, stdout=subprocess.PIPE, text=True,
                              errors="surrogateescape").stdout.splitlines()

    read = [line.strip() for line in ninja("deps") if line.startswith(" ")]
    inputs = ninja("inputs", "all")
    ignored, outside = tuple(f"{path}/" for path in ignored_folders()), {}
    for program, paths in (("a compiler", read), ("the build", inputs)):
        for path in map(os.path.normpath, paths):
            for name in {path, os.path.realpath(path)}:  # a link has an owner, too
                if name.startswith("/") and not name.startswith(ignored):
                    outside.setdefault(name, program)
    write_list(outside, [], sys.stdout)
    return 0


def judgement(files, packages, tree, folder):
    """(exit code, text)."""
    if not (pathlib.Path(folder) / "status").is_file():
        return SKIPPED, "no dpkg here\n"
    opened, text = {}, ""
    for file in filter(pathlib.Path.is_file, files):
        found, comments = read_list(file)
        opened.update(found)
        text += "".join(f"{file.name}: {comment}\n" for comment in comments)
    if not opened:
        return SKIPPED, text + "no opened files were recorded\n"
    opened = {path: program for path, program in opened.items()
              if not path.startswith(f"{tree}/")
              and not INCIDENTAL.match(f"{path}\t{program}")}

    database = dpkg.Dpkg(folder)
    listed = dpkg.names_in(packages.read_text())
    covered = database.closure(listed | database.required)
    owners = database.owners(opened)
    uncovered = collections.defaultdict(list)
    for path, names in sorted(owners.items()):
        if not names & covered and not any(map(CUDA.match, names)):
            uncovered[min(names)].append(path)
    text += (f"{len(owners)} opened files of {len(set().union(*owners.values()))} "
             f"packages; {len(opened) - len(owners)} of no package\n")
    for name in list(uncovered):  # without those that come with another one
        if any(name in database.closure([other]) > database.closure([name])
               for other in uncovered):
            del uncovered[name]
    for name, paths in sorted(uncovered.items()):
        text += f"{name}: neither in packages.txt nor needed by a package there\n"
        text += "".join(f"  {path}, opened by {opened[path]}\n"
                        for path in paths[:EXAMPLES])
        text += f"  fix: add {name} to packages.txt, or do not use it\n"
    return (1 if uncovered else 0), text


def judge(asked):
    code, text = judgement(asked.files, asked.packages, asked.tree.resolve(),
                           asked.dpkg)
    print(text, end="", flush=True)
    if asked.output_junit:
        test = argparse.Namespace(name="opened_files")
        result = {0: "passed", 1: "failed", SKIPPED: "skipped"}[code]
        run_suites.write_junit(asked.output_junit, [(test, result, 0, text)])
    return code


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    recorder = modes.add_parser("record")
    recorder.add_argument("file", type=pathlib.Path)
    recorder.add_argument("command", nargs="+")
    modes.add_parser("headers").add_argument("folder")
    judging = modes.add_parser("judge")
    judging.add_argument("files", type=pathlib.Path, nargs="+")
    judging.add_argument("packages", type=pathlib.Path)
    judging.add_argument("--tree", type=pathlib.Path, default=ROOT)
    judging.add_argument("--dpkg", default="/var/lib/dpkg", help="its folder")
    judging.add_argument("--output-junit", help="also write the result as ctest does")
    asked = parser.parse_args(arguments)
    if asked.mode == "record":
        return record(asked.file, asked.command)
    return headers(asked.folder) if asked.mode == "headers" else judge(asked)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
