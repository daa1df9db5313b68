# Labels of tests, by which `./lockstep test` selects them:
#
# - the room or kind: base, plan, tracer, engine, gui, lessons, run, experiments, fuzz,
#   all of which are `unit`; house, e2e, book, course;
# - the tier, unless each run of the tests includes it: `gate`, what CI adds; `all`,
#   what only `./lockstep test --all` adds;
# - the file, as tests/e2e/trust_test.py, or the lesson, as lessons/06-reduce, where a
#   test belongs to one (`./lockstep test PATH`). Unit tests have it in the preset
#   `inner`, where each file is a program.
#
# A unit test has the tier `all` if its suite or instantiation is named `Large…`. The
# labels of a Python test stand behind its class:
#
#   class Chaos(TempTest):  # gate alone
#
# `gate` or `all`: the tier. `alone`: no other test runs meanwhile. `first`: a long
# test, so it starts before others. `30_minutes`: its time limit.

# Adds a test for each class of a Python file that contains tests: <prefix>.<class>.
# Exit code 77 means skipped. Sets <out> to the names.
function(add_python_tests out prefix label file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  get_filename_component(path ${file} ABSOLUTE)
  file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${path})
  file(STRINGS ${file} lines REGEX "^class |^    def test")
  set(line_of_class)
  set(names)
  foreach(line IN LISTS lines)
    if(line MATCHES "^class ")
      set(line_of_class "${line}")
      continue()
    elseif(NOT line_of_class)
      continue()
    endif()
    string(REGEX MATCH "^class ([A-Za-z0-9_]+)[^#]*(# (.*))?$" _ "${line_of_class}")
    set(class ${CMAKE_MATCH_1})
    string(REPLACE " " ";" words "${CMAKE_MATCH_3}")
    set(line_of_class)
    add_test(NAME ${prefix}.${class}
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/run_class.py ${path}
        ${class})
    set(minutes 15)
    set(labels ${label} ${relative})
    foreach(word IN LISTS words)
      if(word MATCHES "^(gate|all)$")
        list(APPEND labels ${word})
      elseif(word MATCHES "^([0-9]+)_minutes$")
        set(minutes ${CMAKE_MATCH_1})
      elseif(word STREQUAL "alone")
        set_tests_properties(${prefix}.${class} PROPERTIES RUN_SERIAL TRUE)
      elseif(word STREQUAL "first")
        set_tests_properties(${prefix}.${class} PROPERTIES COST 100)
      else()
        message(FATAL_ERROR "${relative}: class ${class}: unknown label ${word}")
      endif()
    endforeach()
    math(EXPR seconds "60 * ${minutes}")
    set_tests_properties(${prefix}.${class} PROPERTIES
      LABELS "${labels}" TIMEOUT ${seconds} SKIP_RETURN_CODE 77)
    list(APPEND names ${prefix}.${class})
  endforeach()
  set(${out} ${names} PARENT_SCOPE)
endfunction()
