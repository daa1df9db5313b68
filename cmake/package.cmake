# The installed files, and what CPack makes of them: `./lockstep package`. Three
# components: `program`; `cuda`, a .deb of its own; `libraries`, which only the tarball
# has: the shared libraries and fonts that the .deb names as packages.
set(private_libraries lib/lockstep)
set(program_rpath "$ORIGIN/../${private_libraries}")
set_target_properties(lockstep PROPERTIES INSTALL_RPATH ${program_rpath})
set_target_properties(lockstep_engine lockstep_tracer lockstep_record PROPERTIES
  INSTALL_RPATH "$ORIGIN")
install(TARGETS lockstep RUNTIME DESTINATION bin COMPONENT program)
install(TARGETS lockstep_engine lockstep_tracer lockstep_record
  LIBRARY DESTINATION ${private_libraries} COMPONENT program)
if(TARGET lockstep_cuda)
  set_target_properties(lockstep_cuda PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS lockstep_cuda LIBRARY DESTINATION ${private_libraries} COMPONENT cuda)
endif()

# Exercises, hints, recorded traces, headers and sources are inside the program.
set(documents share/doc/lockstep)
install(FILES README.md LICENSE NOTICE DESTINATION ${documents} COMPONENT program)
install(FILES LICENSE DESTINATION ${documents} RENAME copyright COMPONENT program)
foreach(package libcli11-dev nlohmann-json3-dev libimgui-dev)  # compiled in
  install(FILES /usr/share/doc/${package}/copyright DESTINATION ${documents}/licences
    RENAME ${package} COMPONENT program OPTIONAL)
endforeach()
install(DIRECTORY docs/ DESTINATION ${documents}/docs COMPONENT program
  FILES_MATCHING PATTERN *.md PATTERN *.yml PATTERN *.png PATTERN *.webp)
install(DIRECTORY lessons/ DESTINATION share/lockstep/lessons COMPONENT program
  FILES_MATCHING PATTERN chapter.md PATTERN machine EXCLUDE PATTERN mutants EXCLUDE)
install(CODE "
  set(book ${PROJECT_SOURCE_DIR}/build/book)
  if(EXISTS \${book}/index.html)
    file(INSTALL \${book} DESTINATION \${CMAKE_INSTALL_PREFIX}/${documents}
         PATTERN .doctrees EXCLUDE PATTERN .buildinfo EXCLUDE)
  endif()" COMPONENT program)

configure_file(cmake/bundle.cmake.in ${PROJECT_BINARY_DIR}/bundle.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/bundle.cmake COMPONENT libraries)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_SOURCE_DIR}/build/packages)
set(CPACK_PACKAGE_CONTACT "the lockstep authors <lockstep@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "see how deep-learning training is distributed across devices")
set(CPACK_PACKAGE_FILE_NAME lockstep-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program libraries)
if(TARGET lockstep_cuda)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/cpack_each.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME lockstep)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "Trains AlexNet, ResNet and VGG on virtual devices,
 records every call and byte, and plays the recording. Requires AVX2 (x86-64-v3).")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
# The lessons compile what the learner writes.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS
  "g++, libfmt-dev, fonts-inter, fonts-jetbrains-mono")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "lockstep-cuda, gnuplot-nox, ffmpeg")
# NVIDIA's libraries have other package names for every version, so none is named.
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME lockstep-cuda)
set(CPACK_DEBIAN_CUDA_DESCRIPTION "The backend of --device-type cuda. Requires NVIDIA's
 driver, cuBLAS and cuDNN.")
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "lockstep (= ${PROJECT_VERSION})")
include(CPack)
