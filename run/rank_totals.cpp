#include "run/rank_totals.h"

#include "engine/distributed/collectives/small_collectives.h"

namespace lockstep::run {

int64_t skipped_by_all(const RunConfig& c, const RankPlace& place, Device device) {
  if (!place.is_process || c.data.on_bad_image == OnBadImage::error ||
      !shares_batch(c, place)) {
    return skipped_images();
  }
  int64_t skipped = 0;
  for (const auto& of_rank : distributed::gather_integers(
           *place.group, device, {skipped_images()}, "summary")) {
    skipped += of_rank[0];
  }
  return skipped;
}

bool is_saved(const RunConfig& c, const RankPlace& place, Device device) {
  const bool saves = !c.output.save.empty();
  if (!place.is_process || shares_batch(c, place)) return saves;
  return distributed::broadcast_integers(*place.group, device, {saves}, "summary")[0];
}

void share_with_ranks(Recording& recording, const RankPlace& place, Device device,
                      int64_t skipped) {
  if (!place.is_process) return;
  std::vector<int64_t> peaks;
  for (const auto& of_rank : distributed::gather_integers(
           *place.group, device, recording.measure_peaks(), "summary")) {
    peaks.push_back(of_rank[0]);
  }
  if (place.servers) {
    const auto of_servers = place.servers->peaks();
    peaks.insert(peaks.end(), of_servers.begin(), of_servers.end());
  }
  recording.set_peaks(peaks);
  recording.set_skipped_images(skipped);
}

}  // namespace lockstep::run
