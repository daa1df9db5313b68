#!/usr/bin/env python3
"""Updates the output of `lockstep COMMAND --help` in commands.md, below each command.

    docs/commands.py [LOCKSTEP]            # default: build/release/lockstep
    docs/commands.py --check [LOCKSTEP]    # write nothing; exit 1 if it would change

The sections and their text are maintained manually. A section is a heading with the
command in code, `## `train``. Its help block is at the end of the section
or before further text.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE / "commands.md"
BLOCK = re.compile(r"(<!-- help: (.+?) -->\n```text\n)(.*?)(```\n)", re.S)
NAMES = re.compile(r"^Subcommands:\n((?:  \S.*\n(?:   +.*\n)*)+)", re.M)


def help_of(lockstep, command):
    """Returns the help without the lines that all commands share."""
    words = command.split() if command != "lockstep" else []
    said = subprocess.run([lockstep, *words, "--help"], capture_output=True, text=True,
                          check=True, timeout=60).stdout
    kept = [line.rstrip() for line in said.splitlines()
            if not line.startswith("  -h,--help")]
    text = "\n".join(kept).strip() + "\n"
    return re.sub(r"\n\nOptions:\n(?=\n|$)", "\n", text + "\n").strip() + "\n"


def commands_of(lockstep, command="lockstep"):
    """Yields all subcommands: `train`, `trace`, `trace summary`, …"""
    listed = NAMES.search(help_of(lockstep, command))
    for name in re.findall(r"^  (\S+)", listed.group(1), re.M) if listed else []:
        whole = name if command == "lockstep" else f"{command} {name}"
        yield whole
        yield from commands_of(lockstep, whole)


def problems(lockstep, page):
    """Yields errors: commands missing on the page, and unknown commands on it."""
    known = ["lockstep", *commands_of(lockstep)]
    shown = [command for _, command, _, _ in BLOCK.findall(page)]
    linked = re.findall(r"^- .*", page, re.M)
    for command in known:
        if shown.count(command) != 1:
            yield f"`{command}` has {shown.count(command)} blocks of help, not one"
    for command in known[1:]:
        if command.count(" ") == 0 and not any(f"[`{command}`]" in line
                                               for line in linked):
            yield f"`{command}` is not in the table of contents"
    yield from (f"`{command}` is no command" for command in shown
                if command not in known)


def filled(lockstep, page):
    return BLOCK.sub(lambda block: block[1] + help_of(lockstep, block[2]) + block[4],
                     page)


def main(words):
    check = words[:1] == ["--check"]
    lockstep = (words[check:] or [HERE.parent / "build/release/lockstep"])[0]
    page = PAGE.read_text(encoding="utf-8")
    found = list(problems(lockstep, page))
    if not found:
        new = filled(lockstep, page)
        if check and new != page:
            found = ["the program's help has changed; fix: docs/commands.py"]
        elif not check:
            PAGE.write_text(new, encoding="utf-8")
    for problem in found:
        print(f"docs/commands.md: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
