# SPDX-License-Identifier: BSD-3-Clause
# Which parts of Graft can be built here. An option of the value AUTO becomes ON where what the part needs was found, else OFF, which
# is said; ON without it is an error.
macro(graft_part option what found needs)
    if(NOT ${found} AND ${option} STREQUAL "AUTO")
        message(STATUS "Graft without ${what}: ${needs}")
        set(${option} OFF)
    elseif(NOT ${found} AND ${option})
        message(FATAL_ERROR "${option} is ON, but ${needs}. Install it, or say -D${option}=OFF to build without ${what}.")
    elseif(${option} STREQUAL "AUTO")
        set(${option} ON)
    endif()
endmacro()

# What the library itself needs.
find_package(Threads REQUIRED)
find_package(Python3 COMPONENTS Interpreter)
find_package(PkgConfig)
find_package(yaml-cpp QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(HWY QUIET IMPORTED_TARGET libhwy)
endif()
set(missing "")
foreach(part Python3 PkgConfig yaml-cpp HWY)
    if(NOT ${part}_FOUND)
        list(APPEND missing ${part})
    endif()
endforeach()
if(missing)
    list(JOIN missing ", " missing)
    message(FATAL_ERROR "Graft needs Python 3, pkg-config, yaml-cpp and Highway (HWY) to be built; not found: ${missing}.\n"
        "  Debian, Ubuntu:  apt-get install python3 pkg-config libyaml-cpp-dev libhwy-dev\n"
        "  Fedora, RHEL with EPEL:  dnf install python3 pkgconf yaml-cpp-devel highway-devel\n"
        "  without root:  conda install -c conda-forge python pkg-config yaml-cpp libhwy, or spack install yaml-cpp highway\n"
        "A library in a folder of its own is found by -DCMAKE_PREFIX_PATH=<folder> and PKG_CONFIG_PATH=<folder>/lib/pkgconfig.")
endif()

find_package(OpenMP QUIET COMPONENTS CXX)
graft_part(GRAFT_WITH_OPENMP "threads" OpenMP_CXX_FOUND "the C++ compiler has no OpenMP")

include(CheckLanguage)
check_language(Fortran)
graft_part(GRAFT_WITH_FORTRAN "the Fortran modules" CMAKE_Fortran_COMPILER "there is no Fortran compiler (gfortran)")

if(POLICY CMP0167) # CMake 3.30 and later: Boost brings what finds it, and CMake's own way is on its way out
    cmake_policy(SET CMP0167 NEW)
endif()
find_package(PNG QUIET)
find_package(Boost QUIET COMPONENTS program_options)
set(command_found OFF)
if(PNG_FOUND AND TARGET Boost::program_options)
    set(command_found ON)
endif()
graft_part(GRAFT_WITH_CLI "the graft command" command_found
           "PNG or Boost's program_options is missing (libpng-dev, libboost-program-options-dev)")
set(HDF5_FOUND OFF)
if(GRAFT_WITH_HDF5)
    find_package(HDF5 QUIET COMPONENTS C)
endif()
graft_part(GRAFT_WITH_HDF5 "HDF5 snapshots in the graft command" HDF5_FOUND "HDF5 for C is missing (libhdf5-dev)")
