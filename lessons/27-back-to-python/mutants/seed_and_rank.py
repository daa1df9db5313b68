# rejected by: shard_samples
# because: one order for all ranks
#
# The misconception: ranks need different orders.

# [solution-samples]
        generator = torch.Generator()
        generator.manual_seed(self.seed + self.epoch + self.rank)
        order = torch.randperm(self.length, generator=generator).tolist()
        positions = range(self.rank, len(self) * self.world, self.world)
        return iter([order[position % self.length] for position in positions])
# [/solution-samples]
