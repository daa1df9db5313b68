# rejected by: shard_epochs
# because: so that each epoch has an order of its own
#
# The misconception: a new order comes by itself.

# [solution-samples]
        generator = torch.Generator()
        generator.manual_seed(self.seed)
        order = torch.randperm(self.length, generator=generator).tolist()
        positions = range(self.rank, len(self) * self.world, self.world)
        return iter([order[position % self.length] for position in positions])
# [/solution-samples]
