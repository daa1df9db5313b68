# The viewer: Dear ImGui and libpng, and, for a window on the screen, GLFW and OpenGL.
# Without the first two `lockstep view` reports what to install; without the others it
# still renders images and videos.
include(FindPkgConfig)
pkg_check_modules(IMGUI IMPORTED_TARGET imgui)
find_package(PNG)
set(LOCKSTEP_HAS_GUI OFF)
if(NOT IMGUI_FOUND OR NOT PNG_FOUND)
  message(STATUS "no viewer. Fix: apt-get install libimgui-dev libpng-dev")
  return()
endif()
set(LOCKSTEP_HAS_GUI ON)

# What needs no ImGui: the model of a trace, and what is said of it.
file(GLOB_RECURSE model_sources CONFIGURE_DEPENDS gui/model/*.cpp gui/text/*.cpp)
add_library(lockstep_viewer_model STATIC ${model_sources})
compile_in_batches(lockstep_viewer_model)
target_link_libraries(lockstep_viewer_model PUBLIC lockstep_tracer)
precompile_headers(lockstep_viewer_model)

# The software renderer of ImGui's draw data.
file(GLOB render_sources CONFIGURE_DEPENDS gui/render/*.cpp)
add_library(lockstep_render STATIC ${render_sources})
target_link_libraries(lockstep_render
  PUBLIC lockstep_tracer PkgConfig::IMGUI PNG::PNG ${CMAKE_DL_LIBS})
precompile_headers(lockstep_render)

file(GLOB_RECURSE gui_sources CONFIGURE_DEPENDS gui/*.cpp)
list(FILTER gui_sources EXCLUDE REGEX "/gui/(screen|model|text|render)/")
add_library(lockstep_gui STATIC ${gui_sources})
compile_in_batches(lockstep_gui)
precompile_headers(lockstep_gui)
target_link_libraries(lockstep_gui
  PUBLIC lockstep_viewer_model lockstep_render)
# No fused multiply-add by the compiler: the same draw data give the same pixels
# everywhere.
foreach(target lockstep_viewer_model lockstep_render lockstep_gui)
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  optimize(${target} -O2)
endforeach()

find_package(glfw3 3.3 QUIET)
find_package(OpenGL QUIET COMPONENTS OpenGL)
if(glfw3_FOUND AND OpenGL_FOUND)
  file(GLOB screen_sources CONFIGURE_DEPENDS gui/screen/*.cpp)
  target_sources(lockstep_gui PRIVATE ${screen_sources})
  target_link_libraries(lockstep_gui PUBLIC glfw OpenGL::GL)
  # Debian's imgui.pc names the folder above the one with the backends.
  foreach(folder IN LISTS IMGUI_INCLUDE_DIRS)
    target_include_directories(lockstep_gui SYSTEM PRIVATE ${folder}/backends)
  endforeach()
  target_compile_definitions(lockstep_gui PUBLIC LOCKSTEP_HAS_WINDOW=1)
else()
  message(STATUS "no window. Fix: apt-get install libglfw3-dev libgl-dev")
endif()
