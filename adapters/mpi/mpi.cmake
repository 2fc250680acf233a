# SPDX-License-Identifier: BSD-3-Clause
# Which MPIs are here: for each flavour found, an interface target graft_mpi_for_<flavour> (flags of its C wrapper), and
# GRAFT_MPI_FLAVOURS, GRAFT_MPIEXEC_<flavour>, GRAFT_MPIFORT_<flavour>. CMake's FindMPI knows one MPI a build only.
set(GRAFT_MPICC "" CACHE FILEPATH "the mpicc of the MPI to build the shim for, instead of those in the usual places")

# "mpich", "openmpi" or "" (no working wrapper). MPICH's family (Intel, MVAPICH, Cray) counts as mpich.
function(graft_mpi_flavour_of wrapper result)
    file(WRITE ${CMAKE_BINARY_DIR}/mpi_flavour.c
         "#include <mpi.h>\n#if defined(OPEN_MPI)\nflavour=openmpi\n#else\nflavour=mpich\n#endif\n")
    execute_process(COMMAND ${wrapper} -E ${CMAKE_BINARY_DIR}/mpi_flavour.c
                    OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE status)
    set(${result} "" PARENT_SCOPE)
    if(status EQUAL 0 AND text MATCHES "flavour=([a-z]+)")
        set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
    endif()
endfunction()

# An interface target with what the wrapper adds to the compiler's command line, its choice of optimisation excepted.
function(graft_mpi_flags wrapper language target)
    execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE line OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(words UNIX_COMMAND "${line}")
    list(POP_FRONT words)
    add_library(${target} INTERFACE)
    foreach(word ${words})
        if(word MATCHES "^-I(.+)")
            target_include_directories(${target} SYSTEM INTERFACE ${CMAKE_MATCH_1})
        elseif(word MATCHES "^-(D|fallow)")
            target_compile_options(${target} INTERFACE $<$<COMPILE_LANGUAGE:${language}>:${word}>)
        elseif(word MATCHES "^-(L|Wl,)")
            target_link_options(${target} INTERFACE ${word})
        elseif(word MATCHES "^-(l|pthread$)")
            target_link_libraries(${target} INTERFACE ${word})
        endif()
    endforeach()
endfunction()

function(graft_add_mpi wrapper flavour)
    get_filename_component(folder ${wrapper} DIRECTORY)
    graft_mpi_flags(${wrapper} C graft_mpi_for_${flavour})
    find_program(GRAFT_MPIEXEC_${flavour} NAMES mpiexec.${flavour} mpiexec HINTS ${folder})
    find_program(GRAFT_MPIFORT_${flavour} NAMES mpifort.${flavour} mpifort HINTS ${folder})
    mark_as_advanced(GRAFT_MPIEXEC_${flavour} GRAFT_MPIFORT_${flavour})
    if(GRAFT_MPIFORT_${flavour})
        graft_mpi_flags(${GRAFT_MPIFORT_${flavour}} Fortran graft_mpi_for_${flavour}_fortran)
    endif()
endfunction()

# For tests under mpiexec: Open MPI as root and with more ranks than cores (version 4's word and version 5's); one thread a
# rank; no leak reports of MPI's own.
set(GRAFT_MPI_TEST_ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1"
    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"
    "OMPI_MCA_btl_base_warn_component_unused=0;UCX_LOG_LEVEL=error;OMP_NUM_THREADS=1;ASAN_OPTIONS=detect_leaks=0"
    "GRAFT_LIBRARY=$<TARGET_FILE:graft>")

set(GRAFT_MPI_FLAVOURS "")
if(GRAFT_WITH_MPI STREQUAL "AUTO" OR GRAFT_WITH_MPI)
    if(GRAFT_MPICC)
        set(wrappers ${GRAFT_MPICC})
    else()
        find_program(GRAFT_MPICC_MPICH mpicc.mpich)
        find_program(GRAFT_MPICC_OPENMPI mpicc.openmpi)
        find_program(GRAFT_MPICC_PLAIN mpicc)
        mark_as_advanced(GRAFT_MPICC_MPICH GRAFT_MPICC_OPENMPI GRAFT_MPICC_PLAIN)
        set(wrappers ${GRAFT_MPICC_MPICH} ${GRAFT_MPICC_OPENMPI} ${GRAFT_MPICC_PLAIN})
    endif()
    foreach(wrapper ${wrappers})
        if(NOT wrapper MATCHES "NOTFOUND$")
            graft_mpi_flavour_of(${wrapper} flavour)
            if(flavour AND NOT flavour IN_LIST GRAFT_MPI_FLAVOURS)
                graft_add_mpi(${wrapper} ${flavour})
                list(APPEND GRAFT_MPI_FLAVOURS ${flavour})
            endif()
        endif()
    endforeach()
    if(GRAFT_MPICC AND NOT GRAFT_MPI_FLAVOURS)
        message(FATAL_ERROR "GRAFT_MPICC=${GRAFT_MPICC} does not compile a file that includes mpi.h; give the path of "
                            "the MPI's C compiler wrapper")
    endif()
endif()
if(GRAFT_WITH_MPI AND NOT GRAFT_WITH_MPI STREQUAL "AUTO" AND NOT GRAFT_MPI_FLAVOURS)
    message(FATAL_ERROR "GRAFT_WITH_MPI=ON, but no MPI was found (looked for mpicc.mpich, mpicc.openmpi, mpicc); install "
                        "libmpich-dev or libopenmpi-dev, give GRAFT_MPICC=/path/to/mpicc, or set GRAFT_WITH_MPI=OFF")
endif()
