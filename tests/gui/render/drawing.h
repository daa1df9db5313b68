// Draw data built without an ImGui context.
#pragma once

#include <imgui.h>

#include <initializer_list>
#include <type_traits>

#include "gui/render/imgui_compat.h"
#include "gui/render/rasterizer.h"

namespace lockstep::gui {

constexpr uint32_t kBlack = 0xff000000, kWhite = 0xffffffff;

/// One list of triangles and rectangles for a picture of a given size.
class Drawing {
 public:
  Drawing(int width, int height, float scale = 1) : image_{width, height, {}} {
    data_.DisplaySize = {static_cast<float>(width) / scale,
                         static_cast<float>(height) / scale};
    data_.FramebufferScale = {scale, scale};
    data_.Valid = true;
    set_lists(data_, &lists_);
    data_.CmdListsCount = 1;
    clip({0, 0, data_.DisplaySize.x, data_.DisplaySize.y});
  }
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;

  ImDrawData& data() { return data_; }
  ImDrawList& list() { return list_; }
  ImDrawCmd& command() { return list_.CmdBuffer.back(); }

  /// Clips the shapes that follow to `box` and draws them with `texture`.
  void clip(ImVec4 box, const Texture* texture = nullptr) {
    ImDrawCmd command;
    command.ClipRect = box;
    set_texture(command, texture_id(texture));
    command.IdxOffset = static_cast<unsigned>(list_.IdxBuffer.Size);
    list_.CmdBuffer.push_back(command);
  }
  ImDrawIdx vertex(ImVec2 at, uint32_t color, ImVec2 uv = {0, 0}) {
    list_.VtxBuffer.push_back({at, uv, color});
    return static_cast<ImDrawIdx>(list_.VtxBuffer.Size - 1);
  }
  void indices(std::initializer_list<ImDrawIdx> all) {
    for (const ImDrawIdx index : all) list_.IdxBuffer.push_back(index);
    command().ElemCount += static_cast<unsigned>(all.size());
  }
  void triangle(ImVec2 a, ImVec2 b, ImVec2 c, uint32_t color) {
    indices({vertex(a, color), vertex(b, color), vertex(c, color)});
  }
  /// Two triangles, as ImGui draws rectangles: a b c, a c d.
  void rectangle(ImVec2 a, ImVec2 c, uint32_t color, ImVec2 uv_a = {0, 0},
                 ImVec2 uv_c = {0, 0}) {
    const ImDrawIdx i = vertex(a, color, uv_a);
    vertex({c.x, a.y}, color, {uv_c.x, uv_a.y});
    vertex(c, color, uv_c);
    vertex({a.x, c.y}, color, {uv_a.x, uv_c.y});
    const auto plus = [i](int n) { return static_cast<ImDrawIdx>(i + n); };
    indices({i, plus(1), plus(2), i, plus(2), plus(3)});
  }

  const Image& draw(uint32_t background = kBlack) {
    rasterize(data_, image_, background);
    return image_;
  }

 private:
  // `auto`, because ImGui's versions name the members differently.
  static void set_lists(auto& data, ImDrawList** lists) {
    if constexpr (std::is_pointer_v<decltype(data.CmdLists)>) {
      data.CmdLists = lists;
    } else {
      data.CmdLists.push_back(*lists);
    }
  }
  static void set_texture(auto& command, ImTextureID id) {
    if constexpr (requires { command.TexRef; }) {
      command.TexRef = id;
    } else {
      command.TextureId = id;
    }
  }

  ImDrawList list_{nullptr};
  ImDrawList* lists_ = &list_;
  ImDrawData data_;
  Image image_;
};

inline uint32_t pixel(const Image& image, int x, int y) {
  return image.pixels.at(static_cast<size_t>(y * image.width + x));
}

inline uint32_t gray(int level) {
  return kBlack | static_cast<uint32_t>(level) * 0x010101;
}

}  // namespace lockstep::gui
