"""A piece of cmake that keeps the commit's id out of command lines that do not need it.

llama.cpp defines `LLAMA_COMMIT="<hash>"` for a whole library, though at most one of its files reads it. The
compiler cache looks at definitions first, so that every commit misses on every file of the library, and has
to run the preprocessor to find out that nothing changed: 17 s instead of 3 on two cores. The script moves
such a definition from the target to those of its sources that mention the name. Where a header or any source
of another target mentions it, or a source of the target is not made yet, the target stays as it is.
"""

from forkguard.core.names import CommitHash

_SCRIPT = r"""# Written by forkguard. See forkguard/core/commit_macros.py.
if(CMAKE_VERSION VERSION_LESS 3.19 OR NOT CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  return()
endif()

function(forkguard_targets folder result)
  get_property(found DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(sub IN LISTS below)
    forkguard_targets("${sub}" more)
    list(APPEND found ${more})
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# The sources of a target that mention a name; `known` is false where one of them cannot be read yet.
function(forkguard_readers target name readers all known)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  set(found "")
  set(paths "")
  set(${known} TRUE PARENT_SCOPE)
  foreach(source IN LISTS sources)
    get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${folder}")
    list(APPEND paths "${path}")
    if(NOT EXISTS "${path}" OR path MATCHES "[$]<")
      set(${known} FALSE PARENT_SCOPE)
    else()
      file(STRINGS "${path}" lines REGEX "${name}" LIMIT_COUNT 1)
      if(lines)
        list(APPEND found "${path}")
      endif()
    endif()
  endforeach()
  set(${readers} "${found}" PARENT_SCOPE)
  set(${all} "${paths}" PARENT_SCOPE)
endfunction()

function(forkguard_narrow target name value)
  execute_process(
    COMMAND git grep -lF -e "${name}" -- *.c *.cc *.cpp *.cxx *.m *.mm *.cu *.h *.hh *.hpp *.hxx *.inc *.inl *.ipp
            *.def *.cuh *.comp *.cl *.metal *.h.in *.hpp.in *.inc.in
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE mentions RESULT_VARIABLE status ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  forkguard_readers(${target} "${name}" readers all known)
  if(status GREATER 1 OR NOT known)
    return()
  endif()
  string(REPLACE "\n" ";" mentions "${mentions}")
  foreach(mention IN LISTS mentions)
    get_filename_component(path "${mention}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
    if(NOT path IN_LIST all OR NOT path MATCHES "[.](c|cc|cpp|cxx)$")
      return()
    endif()
  endforeach()
  get_target_property(definitions ${target} COMPILE_DEFINITIONS)
  list(REMOVE_ITEM definitions "${name}=${value}")
  set_property(TARGET ${target} PROPERTY COMPILE_DEFINITIONS "${definitions}")
  foreach(reader IN LISTS readers)
    set_property(SOURCE "${reader}" TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_DEFINITIONS "${name}=${value}")
  endforeach()
  message(STATUS "forkguard: ${name} goes only to the sources of ${target} that mention it")
endfunction()

function(forkguard_narrow_all)
  forkguard_targets("${CMAKE_SOURCE_DIR}" targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(definitions ${target} COMPILE_DEFINITIONS)
    if(definitions AND NOT type MATCHES "INTERFACE|UTILITY")
      foreach(definition IN LISTS definitions)
        if(definition MATCHES "^([A-Za-z_][A-Za-z0-9_]*)=(\"?@COMMIT@[0-9a-f]*\"?)$")
          forkguard_narrow(${target} "${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}")
        endif()
      endforeach()
    endif()
  endforeach()
endfunction()

cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL forkguard_narrow_all)
"""


def narrowing_script(commit: CommitHash) -> str:
    """The script, for `CMAKE_PROJECT_INCLUDE`, that narrows definitions whose value is the (shortened) commit."""
    return _SCRIPT.replace("@COMMIT@", commit[:7])
