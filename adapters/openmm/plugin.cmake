# SPDX-License-Identifier: BSD-3-Clause
# How the plugin is made for one OpenMM, and the Python module for one Python. OpenMM's C++ headers change between versions, so a
# plugin belongs to the version it was compiled with.
set(GRAFT_OPENMM_FOLDER ${CMAKE_CURRENT_LIST_DIR})
set(GRAFT_OPENMM_SOURCES graft_force.cpp force_impl.cpp calculator.cpp reference_kernel.cpp force_proxy.cpp plugin.cpp)
set(GRAFT_OPENMM_HEADERS graft_force.hpp force_impl.hpp calculator.hpp kernel.hpp reference_kernel.hpp force_proxy.hpp)
set(GRAFT_OPENMM_CUDA cuda_kernel.cpp cuda_kernel.hpp)

# <name>_FOUND, _INCLUDE, _LIBRARY, _PLUGINS (folder), _WHY of the OpenMM under prefix.
function(graft_find_openmm name prefix)
    find_path(${name}_INCLUDE openmm/reference/ReferencePlatform.h PATHS ${prefix}/include NO_DEFAULT_PATH)
    find_library(${name}_LIBRARY OpenMM PATHS ${prefix} PATH_SUFFIXES lib lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH)
    mark_as_advanced(${name}_INCLUDE ${name}_LIBRARY)
    set(${name}_FOUND FALSE PARENT_SCOPE)
    if(NOT ${name}_INCLUDE OR NOT ${name}_LIBRARY)
        set(${name}_WHY "no include/openmm or no libOpenMM.so under ${prefix}" PARENT_SCOPE)
        return()
    endif()
    get_filename_component(folder ${${name}_LIBRARY} DIRECTORY)
    if(EXISTS ${folder}/openmm/plugins) # Debian's place
        set(${name}_PLUGINS ${folder}/openmm/plugins PARENT_SCOPE)
    else()
        set(${name}_PLUGINS ${folder}/plugins PARENT_SCOPE)
    endif()
    set(${name}_FOUND TRUE PARENT_SCOPE)
    # The CUDA platform: a wheel of its own (openmm-cuda-12, -13), and NVIDIA's cuda.h.
    find_path(${name}_CUDA_INCLUDE openmm/cuda/CudaPlatform.h PATHS ${prefix}/include NO_DEFAULT_PATH)
    find_library(${name}_CUDA_LIBRARY OpenMMCUDA PATHS ${folder} PATH_SUFFIXES plugins openmm/plugins NO_DEFAULT_PATH)
    mark_as_advanced(${name}_CUDA_INCLUDE ${name}_CUDA_LIBRARY)
    find_package(CUDAToolkit QUIET)
    set(${name}_CUDA FALSE PARENT_SCOPE)
    if(${name}_CUDA_INCLUDE AND ${name}_CUDA_LIBRARY AND CUDAToolkit_FOUND)
        set(${name}_CUDA TRUE PARENT_SCOPE)
    endif()
endfunction()

# In one piece, since most of the compiler's time goes into OpenMM's headers. libOpenMMGraft.so in folder: the force for C++ programs that link it,
# and the plugin for those that load it.
function(graft_add_openmm_plugin target openmm folder libraries)
    list(TRANSFORM GRAFT_OPENMM_SOURCES PREPEND ${GRAFT_OPENMM_FOLDER}/ OUTPUT_VARIABLE sources)
    add_library(${target} SHARED ${sources})
    target_include_directories(${target} PUBLIC ${GRAFT_OPENMM_FOLDER})
    target_include_directories(${target} SYSTEM PUBLIC ${${openmm}_INCLUDE})
    target_link_libraries(${target} PRIVATE ${libraries} PUBLIC ${${openmm}_LIBRARY})
    target_compile_features(${target} PUBLIC cxx_std_17)
    get_filename_component(rpath ${${openmm}_LIBRARY} DIRECTORY)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME OpenMMGraft LIBRARY_OUTPUT_DIRECTORY ${folder} CXX_VISIBILITY_PRESET hidden
                          VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD ON INSTALL_RPATH "${rpath};${GRAFT_OPENMM_RPATH}")
    target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL)
endfunction()

# libOpenMMGraftCUDA.so beside it: the force's kernel on the CUDA platform.
function(graft_add_openmm_cuda target plugin openmm folder)
    add_library(${target} SHARED ${GRAFT_OPENMM_FOLDER}/cuda_kernel.cpp)
    target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(${target} PRIVATE ${plugin} ${${openmm}_CUDA_LIBRARY} ${ARGN})
    target_link_options(${target} PRIVATE -Wl,--allow-shlib-undefined -Wl,--exclude-libs,ALL) # libcuda.so is the driver's
    get_filename_component(rpath ${${openmm}_LIBRARY} DIRECTORY)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME OpenMMGraftCUDA LIBRARY_OUTPUT_DIRECTORY ${folder} CXX_VISIBILITY_PRESET
                          hidden VISIBILITY_INLINES_HIDDEN ON INSTALL_RPATH "$ORIGIN;${rpath};${GRAFT_OPENMM_RPATH}")
endfunction()

# The number that two SWIG modules must share to know each other's types.
function(graft_swig_runtime result text)
    string(REGEX MATCH "SWIG_RUNTIME_VERSION \"([0-9]+)\"|swig_runtime_data([0-9]+)" found "${text}")
    set(${result} "${CMAKE_MATCH_1}${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

# graft_openmm.py and its extension in folder; <target>_FOUND, _WHY, _SITE (site-packages).
function(graft_add_openmm_python target plugin openmm python folder)
    set(${target}_FOUND FALSE PARENT_SCOPE)
    execute_process(COMMAND ${python} -c "import sysconfig, openmm, openmm._openmm as m
print(sysconfig.get_path('include'), sysconfig.get_config_var('EXT_SUFFIX'), m.__file__, sysconfig.get_path('purelib'), sep=';')"
        OUTPUT_VARIABLE facts ERROR_VARIABLE error RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT status EQUAL 0)
        set(${target}_WHY "${python} cannot import openmm: ${error}" PARENT_SCOPE)
        return()
    endif()
    list(GET facts 0 include)
    list(GET facts 1 suffix)
    list(GET facts 2 module)
    list(GET facts 3 site)
    set(${target}_SITE ${site} PARENT_SCOPE)
    if(NOT EXISTS ${include}/Python.h)
        set(${target}_WHY "no ${include}/Python.h (package python3-dev)" PARENT_SCOPE)
        return()
    endif()
    get_filename_component(beside ${python} DIRECTORY)
    find_program(${target}_SWIG swig HINTS ${beside})
    if(NOT ${target}_SWIG)
        set(${target}_WHY "no swig beside ${python} or on PATH (pip install swig)" PARENT_SCOPE)
        return()
    endif()
    file(STRINGS ${module} theirs REGEX "swig_runtime_data[0-9]")
    execute_process(COMMAND ${${target}_SWIG} -python -external-runtime ${CMAKE_CURRENT_BINARY_DIR}/${target}_runtime.h)
    file(STRINGS ${CMAKE_CURRENT_BINARY_DIR}/${target}_runtime.h ours REGEX "define SWIG_RUNTIME_VERSION")
    graft_swig_runtime(theirs "${theirs}")
    graft_swig_runtime(ours "${ours}")
    if(NOT theirs STREQUAL ours)
        string(CONCAT why "${${target}_SWIG} makes modules of SWIG's run time ${ours}, ${module} has ${theirs}; "
                          "run time 5 is SWIG 4.3 and later, 4 is before (pip install 'swig<4.3')")
        set(${target}_WHY "${why}" PARENT_SCOPE)
        return()
    endif()
    set(interface ${GRAFT_OPENMM_FOLDER}/python/graft_openmm.i)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${folder}/graft_openmm.py ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp
        COMMAND ${${target}_SWIG} -c++ -python -I${GRAFT_OPENMM_FOLDER} -outdir ${folder} -o ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp
                ${interface}
        DEPENDS ${interface} ${GRAFT_OPENMM_FOLDER}/python/openmm_types.i VERBATIM)
    add_library(${target} MODULE ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)
    target_include_directories(${target} SYSTEM PRIVATE ${include})
    target_link_libraries(${target} PRIVATE ${plugin})
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME _graft_openmm SUFFIX ${suffix}
                          LIBRARY_OUTPUT_DIRECTORY ${folder} INSTALL_RPATH "${${openmm}_PLUGINS}")
    set(${target}_FOUND TRUE PARENT_SCOPE)
endfunction()
