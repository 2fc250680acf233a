# SPDX-License-Identifier: BSD-3-Clause
# The examples on ranks: each is built for every MPI found, and run on 1, 2 and 3 ranks under that MPI's mpiexec.
function(graft_add_mpi_example name source flavour language)
    set(target example_${name}_${flavour})
    add_executable(${target} ${source})
    if(language STREQUAL "Fortran")
        target_link_libraries(${target} PRIVATE graft_fortran graft_mpi_for_${flavour}_fortran)
    else()
        target_link_libraries(${target} PRIVATE graft_api graft_flags graft_mpi_for_${flavour} m)
    endif()
    add_dependencies(${target} graft graft_mpi_${flavour})
    foreach(ranks 1 2 3)
        add_test(NAME ${target}.${ranks} COMMAND ${GRAFT_MPIEXEC_${flavour}} -n ${ranks} $<TARGET_FILE:${target}>)
        set_tests_properties(${target}.${ranks} PROPERTIES LABELS "example;mpi" TIMEOUT 120 RUN_SERIAL ON
                             ENVIRONMENT "${GRAFT_MPI_TEST_ENVIRONMENT}")
    endforeach()
endfunction()

foreach(flavour ${GRAFT_MPI_FLAVOURS})
    graft_add_mpi_example(13_mpi_domains 13_mpi_domains.c ${flavour} C)
    if(GRAFT_WITH_FORTRAN AND TARGET graft_mpi_for_${flavour}_fortran)
        graft_add_mpi_example(11_mpi_slabs 11_mpi_slabs.f90 ${flavour} Fortran)
        graft_add_mpi_example(12_mpi_legacy 12_mpi_legacy.f ${flavour} Fortran)
        graft_add_mpi_example(24_mpi 24_mpi.f90 ${flavour} Fortran)
        if(TARGET graft_command)
            set(scope global 1e-8)
            add_test(NAME demo_galaxy_ranks_${flavour} COMMAND ${Python3_EXECUTABLE}
                     ${CMAKE_CURRENT_SOURCE_DIR}/compare_demo.py ${CMAKE_CURRENT_SOURCE_DIR}/decks/galaxy.yaml ${scope}
                     $<TARGET_FILE:galaxy_demo> ${GRAFT_MPIEXEC_${flavour}} -n 3 $<TARGET_FILE:galaxy_demo_${flavour}>)
            set_tests_properties(demo_galaxy_ranks_${flavour} PROPERTIES FIXTURES_REQUIRED demo_galaxy
                                 LABELS "example;mpi" TIMEOUT 300 RUN_SERIAL ON
                                 ENVIRONMENT "${GRAFT_MPI_TEST_ENVIRONMENT}")
        endif()
    endif()
endforeach()
