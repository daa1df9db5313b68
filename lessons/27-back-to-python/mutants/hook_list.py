# rejected by: hook_means
# because: DDP wants the tensor
#
# The misconception: an all-reduce's future is a future of the tensor.

# [solution-hook]
    buffer, views, index = bucket.buffer(), bucket.gradients(), bucket.index()
    buffer /= dist.get_world_size()

    def finish(future):
        norms[index] = [view.norm().item() for view in views]
        return future.value()

    return dist.all_reduce(buffer, async_op=True).get_future().then(finish)
# [/solution-hook]
