"""What dpkg knows of the installed packages, read from its files."""

import collections
import pathlib
import re

# With merged /usr, dpkg's lists may name a file by either path.
MERGED = re.compile(r"^/usr(?=/(?:bin|sbin|lib|lib32|lib64|libx32)/)")
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")


def plain(path):
    return MERGED.sub("", path)


def groups(field):
    """[[alternative, …], …] of a dependency field: names alone."""
    return [[NAME.match(word.strip())[0] for word in group.split("|")]
            for group in field.split(",") if group.strip()]


def names_in(packages_txt):
    """The packages that packages.txt lists, in any section."""
    lines = (line.split() for line in packages_txt.splitlines())
    return {words[0] for words in lines if words and words[0][0] not in "#["}


class Dpkg:
    def __init__(self, folder="/var/lib/dpkg"):
        self.folder = pathlib.Path(folder)
        self.depends = collections.defaultdict(list)  # name → [[alternative, …], …]
        self.providers = collections.defaultdict(set)
        self.required = set()  # essential packages, and those of priority required
        status = (self.folder / "status").read_text(encoding="utf-8", errors="replace")
        for text in status.split("\n\n"):
            self.add(dict(re.findall(r"^([A-Za-z-]+): (.*(?:\n .*)*)", text, re.M)))

    def add(self, fields):
        if fields.get("Status", "").split()[2:] != ["installed"]:
            return
        name = fields["Package"]
        for field in "Depends", "Pre-Depends":
            self.depends[name] += groups(fields.get(field, ""))
        for provided, in groups(fields.get("Provides", "")):
            self.providers[provided].add(name)
        if fields.get("Essential") == "yes" or fields.get("Priority") == "required":
            self.required.add(name)

    def chosen(self, alternatives):
        """The installed packages that satisfy a dependency: those of the first
        alternative that has some, as apt would choose on a bare system."""
        for name in alternatives:
            found = {name} if name in self.depends else self.providers.get(name)
            if found:
                return found
        return set()

    def closure(self, names):
        """The installed ones of these packages, and all that they depend on."""
        reached, next_ones = set(), [self.chosen([name]) for name in names]
        while next_ones:
            new = next_ones.pop() - reached
            reached |= new
            next_ones += [self.chosen(group) for name in new
                          for group in self.depends[name]]
        return reached

    def owners(self, paths):
        """path → the packages that have it; {} for files of no package."""
        wanted = collections.defaultdict(list)
        for path in paths:
            wanted[plain(path)].append(path)
        found = collections.defaultdict(set)
        for file in sorted((self.folder / "info").glob("*.list")):
            name = file.stem.partition(":")[0]
            for line in file.read_text(errors="surrogateescape").splitlines():
                for path in wanted.get(plain(line), ()):
                    found[path].add(name)
        return found
