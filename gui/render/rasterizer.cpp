#include "gui/render/rasterizer.h"

#include <algorithm>
#include <vector>

#include "gui/render/imgui_compat.h"
#include "gui/render/shapes.h"

namespace lockstep::gui {

namespace {

/// Converts ImGui's points to pixels by a difference and a product, which cannot fuse.
class View {
 public:
  explicit View(const ImDrawData& data)
      : origin_(data.DisplayPos), scale_(data.FramebufferScale) {}
  Point operator()(float x, float y) const {
    return {to_fixed((x - origin_.x) * scale_.x), to_fixed((y - origin_.y) * scale_.y)};
  }

 private:
  ImVec2 origin_, scale_;
};

Box clip_box(const View& view, const ImVec4& clip, const Image& target) {
  const Point from = view(clip.x, clip.y), to = view(clip.z, clip.w);
  const auto is_nowhere = [](Point p) { return p.x == kNowhere || p.y == kNowhere; };
  if (is_nowhere(from) || is_nowhere(to)) return {};
  return intersection({first_centre(from.x), first_centre(from.y), first_centre(to.x),
                       first_centre(to.y)},
                      {0, 0, target.width, target.height});
}

/// The vertices of a draw command, by index. Out-of-range counts are clamped.
class Mesh {
 public:
  Mesh(const ImDrawList& list, const std::vector<Point>& points,
       const ImDrawCmd& command)
      : list_(list), points_(points), first_(command.VtxOffset) {
    const auto available = static_cast<size_t>(list.IdxBuffer.Size);
    begin_ = std::min<size_t>(command.IdxOffset, available);
    count_ = std::min<size_t>(command.ElemCount, available - begin_);
  }
  size_t count() const { return count_; }
  ImDrawIdx index(size_t i) const { return list_.IdxBuffer.Data[begin_ + i]; }
  /// Sets `out` to a corner. Returns false if there is no such vertex.
  bool corner(size_t i, Corner& out) const {
    const size_t vertex = first_ + index(i);
    if (vertex >= points_.size()) return false;
    const ImDrawVert& from = list_.VtxBuffer.Data[vertex];
    out = {points_[vertex], from.uv, from.col};
    return true;
  }

 private:
  const ImDrawList& list_;
  const std::vector<Point>& points_;
  size_t first_, begin_, count_;
};

/// Returns true if it drew a rectangle, which ImGui writes as six indices: abc, acd.
bool draw_rectangle(const Canvas& canvas, const Mesh& mesh, size_t i) {
  if (i + 6 > mesh.count() || mesh.index(i + 3) != mesh.index(i) ||
      mesh.index(i + 4) != mesh.index(i + 2)) {
    return false;
  }
  Corner corners[4];
  return mesh.corner(i, corners[0]) && mesh.corner(i + 1, corners[1]) &&
         mesh.corner(i + 2, corners[2]) && mesh.corner(i + 5, corners[3]) &&
         draw_upright(canvas, corners);
}

void draw(const Canvas& canvas, const Mesh& mesh) {
  for (size_t i = 0; i + 3 <= mesh.count(); i += 3) {
    Corner a, b, c;
    if (draw_rectangle(canvas, mesh, i)) {
      i += 3;
    } else if (mesh.corner(i, a) && mesh.corner(i + 1, b) && mesh.corner(i + 2, c)) {
      draw_triangle(canvas, a, b, c);
    }
  }
}

}  // namespace

void rasterize(const ImDrawData& data, Image& target, uint32_t background) {
  target.width = std::max(target.width, 0);
  target.height = std::max(target.height, 0);
  target.pixels.assign(
      static_cast<size_t>(target.width) * static_cast<size_t>(target.height),
      background | kOpaque);
  static constexpr uint32_t kWhite = 0xffffffff;
  static constexpr Texture kBlank{1, 1, &kWhite};
  const View view(data);
  std::vector<Point> points;
  for (int i = 0; i < data.CmdListsCount; ++i) {
    const ImDrawList& list = *data.CmdLists[i];
    points.resize(static_cast<size_t>(list.VtxBuffer.Size));
    std::transform(list.VtxBuffer.begin(), list.VtxBuffer.end(), points.begin(),
                   [&](const ImDrawVert& v) { return view(v.pos.x, v.pos.y); });
    for (const ImDrawCmd& command : list.CmdBuffer) {
      if (command.UserCallback) continue;
      const Texture* texture = texture_of(command);
      const Canvas canvas({target.pixels.data(), target.width},
                          clip_box(view, command.ClipRect, target),
                          has_texels(texture) ? *texture : kBlank);
      if (!canvas.clip().empty()) draw(canvas, Mesh(list, points, command));
    }
  }
}

}  // namespace lockstep::gui
