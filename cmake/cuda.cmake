# CUDA, for --device-type cuda: a separate shared library, liblockstep_cuda.so, that
# the engine loads on first use. LOCKSTEP_CUDA: AUTO builds it where nvcc and cuDNN are
# found, ON requires it, OFF omits it. Without it the program still builds.
set(LOCKSTEP_CUDA AUTO CACHE STRING "AUTO, ON or OFF: the backend for NVIDIA's GPUs")
set(LOCKSTEP_HAS_CUDA FALSE)
if(LOCKSTEP_CUDA STREQUAL "OFF")
  return()
endif()
if(LOCKSTEP_SANITIZE AND NOT LOCKSTEP_CUDA STREQUAL "ON")
  return()
endif()

function(lockstep_no_cuda why)
  if(LOCKSTEP_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LOCKSTEP_CUDA=ON, but ${why}")
  endif()
  message(STATUS "CUDA: ${why}; --device-type cuda is disabled")
endfunction()

find_program(LOCKSTEP_NVCC nvcc HINTS ENV CUDACXX PATHS /usr/local/cuda/bin)
if(NOT LOCKSTEP_NVCC)
  lockstep_no_cuda("nvcc not found (fix: NVIDIA's package cuda-toolkit)")
  return()
endif()
set(CMAKE_CUDA_COMPILER ${LOCKSTEP_NVCC})
if(NOT DEFINED CUDAToolkit_ROOT)  # nvcc's, if there are several
  get_filename_component(nvcc_folder ${LOCKSTEP_NVCC} DIRECTORY)
  get_filename_component(CUDAToolkit_ROOT ${nvcc_folder} DIRECTORY)
endif()
find_package(CUDAToolkit 12.0)
if(NOT CUDAToolkit_FOUND)
  lockstep_no_cuda(
    "toolkit 12.0 or newer not found (fix: NVIDIA's package cuda-toolkit)")
  return()
endif()
# For this machine's GPU. Where there is none, for Ampere, also as PTX for later ones.
# LOCKSTEP_GPUS=ALL, for packages: Ampere, Hopper and, if the compiler supports it,
# Blackwell. -DCMAKE_CUDA_ARCHITECTURES=75 builds for another GPU.
set(LOCKSTEP_GPUS HERE CACHE STRING "HERE or ALL: the GPUs to build for")
if(LOCKSTEP_GPUS STREQUAL "ALL")
  set(generations 80-real 90-real 100)
  if(CUDAToolkit_VERSION VERSION_LESS 12.8)
    set(generations 80-real 90)
  endif()
else()
  set(generations 80)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE here ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(here MATCHES "^([0-9]+)[.]([0-9])")
    set(generations ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
  endif()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES ${generations})
endif()
enable_language(CUDA)
if(CMAKE_VERSION VERSION_LESS 3.26)  # CMAKE_CUDA_STANDARD 20 would silently give 17
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
else()
  set(CMAKE_CUDA_STANDARD 20)
endif()
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# cuDNN and NCCL provide no CMake files.
find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
  PATH_SUFFIXES x86_64-linux-gnu)
find_library(CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
if(NOT CUDNN_INCLUDE_DIR OR NOT CUDNN_LIBRARY)
  lockstep_no_cuda("cuDNN not found (fix: NVIDIA's package cudnn9-cuda-13)")
  return()
endif()
set(LOCKSTEP_HAS_CUDA TRUE)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
  PATH_SUFFIXES x86_64-linux-gnu)
find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
  set(LOCKSTEP_HAS_NCCL TRUE)
else()
  set(LOCKSTEP_HAS_NCCL FALSE)
  message(STATUS "CUDA: NCCL not found (fix: NVIDIA's package libnccl-dev); "
                 "--dist-backend nccl uses ring")
endif()

# The toolkit contains CUPTI in one of two folders. It is not linked: the library is
# loaded when a trace is recorded.
find_path(CUPTI_INCLUDE_DIR cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
  ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include)
find_library(CUPTI_LIBRARY cupti HINTS ${CUDAToolkit_LIBRARY_DIR}
  ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/lib64)
if(CUPTI_INCLUDE_DIR AND CUPTI_LIBRARY)
  set(LOCKSTEP_HAS_CUPTI TRUE)
else()
  set(LOCKSTEP_HAS_CUPTI FALSE)
  message(STATUS "CUDA: CUPTI not found (fix: NVIDIA's package cuda-cupti-dev); "
                 "traces have the times of CUDA events")
endif()

# The library itself; requires the engine's target.
function(add_cuda_library)
  file(GLOB sources CONFIGURE_DEPENDS engine/backends/cuda/*.cpp
       engine/backends/cuda/*.cu)
  if(LOCKSTEP_HAS_NCCL)
    file(GLOB nccl_sources CONFIGURE_DEPENDS engine/distributed/collectives/nccl/*.cpp)
  endif()
  add_library(lockstep_cuda SHARED ${sources} ${nccl_sources})
  set_target_properties(lockstep_cuda PROPERTIES LINKER_LANGUAGE CXX
    CUDA_STANDARD_REQUIRED OFF)
  target_include_directories(lockstep_cuda SYSTEM PRIVATE ${CUDNN_INCLUDE_DIR}
    ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(lockstep_cuda PRIVATE lockstep_engine CUDA::cudart_static
    CUDA::cublas ${CUDNN_LIBRARY})
  if(LOCKSTEP_HAS_NCCL)
    target_include_directories(lockstep_cuda SYSTEM PRIVATE ${NCCL_INCLUDE_DIR})
    target_link_libraries(lockstep_cuda PRIVATE ${NCCL_LIBRARY})
    target_compile_definitions(lockstep_cuda PRIVATE LOCKSTEP_HAS_NCCL=1)
  endif()
  if(LOCKSTEP_HAS_CUPTI)
    target_include_directories(lockstep_cuda SYSTEM PRIVATE ${CUPTI_INCLUDE_DIR})
    target_compile_definitions(lockstep_cuda PRIVATE LOCKSTEP_HAS_CUPTI=1
      LOCKSTEP_CUPTI_LIBRARY="libcupti.so.${CUDAToolkit_VERSION_MAJOR}")
    get_filename_component(cupti_folder ${CUPTI_LIBRARY} DIRECTORY)
    set_property(TARGET lockstep_cuda APPEND PROPERTY BUILD_RPATH ${cupti_folder})
  endif()
endfunction()
