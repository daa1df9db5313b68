# rejected by: hook_means
# because: default_hooks.allreduce_hook
#
# The misconception: PyTorch has a hook for it.

# [solution-hook]
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    return default_hooks.allreduce_hook(None, bucket)
# [/solution-hook]
