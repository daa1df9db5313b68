# rejected by: one_step_recorded
# because: every rank records itself
#
# The misconception: rank 0 writes the files.

# [solution-profile]
    for _ in range(warm_up):
        step()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        step()
    if dist.get_rank() == 0:
        write_profile(recorded, os.path.join(folder, "rank-0.json"))
    return
# [/solution-profile]
