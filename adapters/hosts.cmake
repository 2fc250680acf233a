# SPDX-License-Identifier: BSD-3-Clause
# Which host programs are on this machine. adapters/<host>/CMakeLists.txt looks for its host and says what it found:
#
#     graft_host(rebound FOUND ${found} VERSION 5.2.2 WHY "no rebound.h in ..." INSTALL "./bootstrap deps")
#
# and tests/hosts/<host>/CMakeLists.txt registers tests by graft_add_host_test (tests/hosts/CMakeLists.txt), which run where the
# host is, else report that they were skipped and why, or fail where GRAFT_REQUIRE_HOSTS names the host.
set(GRAFT_REQUIRE_HOSTS "" CACHE STRING "hosts that must be here, as lammps,openmm,rebound: their tests fail instead of being skipped")
set(GRAFT_HOSTS_PYTHON "${PROJECT_SOURCE_DIR}/build/hosts/bin/python" CACHE FILEPATH
    "the Python that has the hosts of tests/hosts/requirements.txt; ./bootstrap deps makes this one")

# FOUND: a truth value. VERSION: what was found. WHY: what was looked for and where, when it was not found. INSTALL: the command
# that installs it. Afterwards GRAFT_HOST_<host> is set in the caller's scope.
function(graft_host name)
    cmake_parse_arguments(host "" "FOUND;VERSION;WHY;INSTALL" "" ${ARGN})
    if(host_FOUND AND CMAKE_C_FLAGS MATCHES "-fsanitize")
        set(host_FOUND FALSE)
        set(host_WHY "a library with a sanitizer cannot be loaded into a plain host")
    endif()
    if(host_FOUND)
        set(found TRUE)
        message(STATUS "Graft host ${name}: ${host_VERSION}")
    else()
        set(found FALSE)
        message(STATUS "Graft host ${name}: not found (${host_WHY})")
    endif()
    set_property(GLOBAL APPEND PROPERTY GRAFT_HOSTS ${name})
    set_property(GLOBAL PROPERTY GRAFT_HOST_${name}_FOUND ${found})
    set_property(GLOBAL PROPERTY GRAFT_HOST_${name}_WHY "${host_WHY}")
    set_property(GLOBAL PROPERTY GRAFT_HOST_${name}_INSTALL "${host_INSTALL}")
    set(GRAFT_HOST_${name} ${found} PARENT_SCOPE)
endfunction()

# Whether `place` is a host's folder, which has the file `sign`, or an archive of its source, which its test builds.
function(graft_host_source result place sign)
    set(${result} FALSE PARENT_SCOPE)
    if(place AND (EXISTS ${place}/${sign} OR place MATCHES "\\.tar\\.[a-z0-9]+$"))
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

# What a line of Python prints in the hosts' environment; empty (and the reason in <result>_WHY) if that fails.
function(graft_hosts_python result code)
    execute_process(COMMAND ${GRAFT_HOSTS_PYTHON} -c "${code}" OUTPUT_VARIABLE printed ERROR_VARIABLE error
                    RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
    if(NOT EXISTS ${GRAFT_HOSTS_PYTHON})
        set(${result} "" PARENT_SCOPE)
        set(${result}_WHY "there is no ${GRAFT_HOSTS_PYTHON}" PARENT_SCOPE)
    elseif(NOT status EQUAL 0)
        string(REGEX REPLACE ".*\n" "" last "${error}") # a traceback's last line is its reason
        set(${result} "" PARENT_SCOPE)
        set(${result}_WHY "${GRAFT_HOSTS_PYTHON}: ${last}" PARENT_SCOPE)
    else()
        set(${result} "${printed}" PARENT_SCOPE)
    endif()
endfunction()
