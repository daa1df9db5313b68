#include "gui/render/offscreen.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace lockstep::gui {

namespace {

constexpr int kMaxPixels = 16384;

/// Makes a context current; the destructor restores the previous one.
class Current {
 public:
  explicit Current(ImGuiContext* context) : before_(ImGui::GetCurrentContext()) {
    ImGui::SetCurrentContext(context);
  }
  ~Current() { ImGui::SetCurrentContext(before_); }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  ImGuiContext* before_;
};

int pixels(int points, float scale) {
  const float count = std::round(static_cast<float>(points) * scale);
  if (!(count >= 1 && count <= kMaxPixels)) {
    throw std::runtime_error(
        fmt::format("an image side of {} points at scale {} is out of range; fix: "
                    "choose 1 to {} pixels",
                    points, scale, kMaxPixels));
  }
  return static_cast<int>(count);
}

}  // namespace

Offscreen::Offscreen(int width, int height, float scale, const std::string& font_folder)
    : scale_(scale), font_folder_(font_folder) {
  image_ = {pixels(width, scale), pixels(height, scale), {}};
  ImGuiContext* before = ImGui::GetCurrentContext();
  context_ = ImGui::CreateContext();
  ImGui::SetCurrentContext(before);
  try {
    const Current current(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.LogFilename = nullptr;
    io.DeltaTime = 1.0f / 60;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    io.DisplayFramebufferScale = {scale, scale};
    map_keys(io);
    fonts_ = load_fonts(*io.Fonts, scale, font_folder);
    take_atlas();
    ImGuiStyle& style = ImGui::GetStyle();
    style.AntiAliasedLinesUseTex = false;
    style.CurveTessellationTol /=
        scale;  // in points, so that curves stay smooth when enlarged
    style.CircleTessellationMaxError /= scale;
    resize(width, height);
  } catch (...) {
    ImGui::DestroyContext(context_);
    throw;
  }
}

void Offscreen::take_atlas() {
  ImFontAtlas& fonts = *ImGui::GetIO().Fonts;
  unsigned char* texels = nullptr;
  fonts.GetTexDataAsRGBA32(&texels, &atlas_.width, &atlas_.height);
  atlas_.pixels = reinterpret_cast<const uint32_t*>(texels);
  fonts.SetTexID(texture_id(&atlas_));
}

Offscreen::~Offscreen() { ImGui::DestroyContext(context_); }

const Image& Offscreen::frame(const std::function<void()>& draw, uint32_t background) {
  const Current current(context_);
  if (load_wanted(fonts_, *ImGui::GetIO().Fonts, scale_, font_folder_)) take_atlas();
  ImGui::NewFrame();
  draw();
  ImGui::Render();
  rasterize(*ImGui::GetDrawData(), image_, background);
  return image_;
}

const ImDrawData* Offscreen::draw_data() const {
  const Current current(context_);
  return ImGui::GetDrawData();
}

void Offscreen::resize(int width, int height) {
  image_.width = pixels(width, scale_);
  image_.height = pixels(height, scale_);
  const Current current(context_);
  ImGui::GetIO().DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
}

void Offscreen::mouse(float x, float y) {
  with_context([&] { feed_mouse(ImGui::GetIO(), {x, y}); });
}

void Offscreen::button(int index, bool down) {
  with_context([&] { feed_button(ImGui::GetIO(), index, down); });
}

void Offscreen::wheel(float x, float y) {
  with_context([&] { feed_wheel(ImGui::GetIO(), x, y); });
}

void Offscreen::key(Key key, bool down) {
  with_context([&] { feed_key(ImGui::GetIO(), key, down); });
}

void Offscreen::modifiers(Modifiers held) {
  with_context([&] { feed_modifiers(ImGui::GetIO(), held); });
}

void Offscreen::text(const char* utf8) {
  with_context([&] { feed_text(ImGui::GetIO(), utf8); });
}

void Offscreen::with_context(const std::function<void()>& action) {
  const Current current(context_);
  action();
}

}  // namespace lockstep::gui
