# rejected by: shard_lengths
# because: rounded up, on every rank
#
# The misconception: what is left over is left out.

# [solution-length]
        return self.length // self.world
# [/solution-length]
