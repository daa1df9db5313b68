# lockstep on CPUs: virtual devices, no GPU needed. Built by buildah on a fresh Debian 12
# (2026-11-22), and the demo ran in it; not yet by Docker.
#
#   docker build -t lockstep .
#   docker run --rm -v "$PWD/traces:/lockstep/traces" lockstep demo
#
# --ipc=host is not needed: lockstep's loader uses threads. (A container's shared memory
# is 64 MB by default; PyTorch's loader workers hand batches over through it and die of a
# "bus error" when it is full.) docs/docker.md: limits, and what makes a run slow.
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates \
      python3 && rm -rf /var/lib/apt/lists/*
COPY . /lockstep
WORKDIR /lockstep
# The wrapper installs the packages of packages.txt and builds the whole program.
RUN apt-get update && ./lockstep --yes lesson list && rm -rf /var/lib/apt/lists/*
ENTRYPOINT ["./lockstep"]
CMD ["doctor"]
