# oneDNN, the CPU kernels. Without it the program still builds, and runs the
# plain-loop `reference` backend only; `lockstep doctor` reports it.
find_path(DNNL_INCLUDE_DIR dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
find_package(OpenMP)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY AND OpenMP_CXX_FOUND)
  set(LOCKSTEP_HAS_DNNL TRUE)
  add_library(lockstep::dnnl UNKNOWN IMPORTED)
  set_target_properties(lockstep::dnnl PROPERTIES
    IMPORTED_LOCATION ${DNNL_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES OpenMP::OpenMP_CXX)
else()
  set(LOCKSTEP_HAS_DNNL FALSE)
  message(WARNING "oneDNN not found: --device-type cpu is disabled, reference remains. "
                  "Fix: apt-get install libdnnl-dev ocl-icd-opencl-dev")
endif()
