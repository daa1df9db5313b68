# rejected by: shard_samples
# because: order.tolist()
#
# The misconception: an element of a permutation is an integer.

# [solution-samples]
        generator = torch.Generator()
        generator.manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.length, generator=generator)
        positions = range(self.rank, len(self) * self.world, self.world)
        return iter([order[position % self.length] for position in positions])
# [/solution-samples]
