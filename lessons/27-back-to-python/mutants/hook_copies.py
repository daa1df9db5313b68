# rejected by: hook_in_place
# because: costs a second bucket
#
# The misconception: the buffer belongs to DDP and must not be changed.

# [solution-hook]
    views, index = bucket.gradients(), bucket.index()
    mean = bucket.buffer() / dist.get_world_size()

    def finish(future):
        summed = future.value()[0]
        parts = summed.split([view.numel() for view in views])
        norms[index] = [part.norm().item() for part in parts]
        return summed

    return dist.all_reduce(mean, async_op=True).get_future().then(finish)
# [/solution-hook]
