# rejected by: shard_samples
# because: changes what everything else draws
#
# The misconception: torch.manual_seed makes it the same on all ranks.

# [solution-samples]
        torch.manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.length).tolist()
        positions = range(self.rank, len(self) * self.world, self.world)
        return iter([order[position % self.length] for position in positions])
# [/solution-samples]
