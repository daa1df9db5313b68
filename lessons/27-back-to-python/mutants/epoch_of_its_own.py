# rejected by: shard_samples
# because: asking twice is not another epoch
#
# The misconception: the sampler counts epochs itself.

# [solution-samples]
        generator = torch.Generator()
        generator.manual_seed(self.seed + self.epoch)
        self.epoch += 1
        order = torch.randperm(self.length, generator=generator).tolist()
        positions = range(self.rank, len(self) * self.world, self.world)
        return iter([order[position % self.length] for position in positions])
# [/solution-samples]
