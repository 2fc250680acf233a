# SPDX-License-Identifier: BSD-3-Clause
# Debian packages by CPack, one for each component of what is installed (./bootstrap packages). A component is named where its
# files are installed; who installs everything sees none of it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME graft)
set(CPACK_PACKAGE_VENDOR "the Graft developers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Graft developers <graft@localhost>")
if(DEFINED ENV{DEBEMAIL}) # as Debian's own tools have it
    set(CPACK_DEBIAN_PACKAGE_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(full_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(library_of_this "libgraft1 (= ${full_version})")

# What Debian wants in every package: a licence and a changelog. Not part of cmake --install.
set(made ${CMAKE_CURRENT_BINARY_DIR}/packages)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE licence)
string(REGEX REPLACE "^[^\n]*\n\n[^\n]*\n\n" "" licence "${licence}") # its name and the years stand above
string(REGEX REPLACE "\n\n" "\n.\n" licence "${licence}")
string(REGEX REPLACE "\n+$" "" licence "${licence}")
string(REPLACE "\n" "\n " licence " ${licence}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright.in ${made}/copyright @ONLY)
string(TIMESTAMP day "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH where it is set
file(WRITE ${made}/changelog.Debian "graft (${full_version}) unstable; urgency=medium\n\n  * Made by CPack from the sources of this version.\n\n"
     " -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${day}\n")
find_program(GRAFT_GZIP gzip)
mark_as_advanced(GRAFT_GZIP)
if(GRAFT_GZIP)
    execute_process(COMMAND ${GRAFT_GZIP} -9nf ${made}/changelog.Debian)
endif()

# The linker's cache, and for which version a program that is linked with libgraft.so.1 asks.
file(WRITE ${made}/triggers "activate-noawait ldconfig\n")
file(WRITE ${made}/shlibs "libgraft 1 libgraft1 (>= ${PROJECT_VERSION})\n")

# graft_package(COMPONENT name section summary, more lines for CPack as NAME value ...)
function(graft_package component name section summary)
    string(TOUPPER ${component} upper)
    set(fields NAME ${name} SECTION ${section} ${ARGN})
    while(fields)
        list(POP_FRONT fields field value)
        set(CPACK_DEBIAN_${upper}_PACKAGE_${field} ${value} PARENT_SCOPE)
    endwhile()
    if(component STREQUAL library)
        set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${made}/triggers ${made}/shlibs PARENT_SCOPE)
    elseif(component MATCHES "command|cuda|hosts") # with libraries that have a name for the linker
        set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${made}/triggers PARENT_SCOPE)
    endif()
    set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}
Graft is a plugin that simulation codes load to get gravity and Coulomb
forces, domain decomposition and load balancing." PARENT_SCOPE)
    set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
    install(FILES ${made}/copyright ${made}/changelog.Debian.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
            COMPONENT ${component} EXCLUDE_FROM_ALL)
    file(WRITE ${made}/overrides/${name} "# CPack calls ldconfig beside the trigger.\n${name}: maintscript-calls-ldconfig\n"
         "# Not made for Debian's archive.\n${name}: initial-upload-closes-no-bugs\n"
         "# Libraries that are opened by name, and never linked.\n${name}: shared-library-lacks-version\n"
         "${name}: package-name-doesnt-match-sonames\n${name}: sharedobject-in-library-directory-missing-soname\n")
    install(FILES ${made}/overrides/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

set(CPACK_COMPONENTS_ALL "")
graft_package(library libgraft1 libs "gravity and Coulomb forces for simulation codes: library"
    SUGGESTS "graft, libgraft-mpich | libgraft-openmpi")
graft_package(development libgraft-dev libdevel "gravity and Coulomb forces for simulation codes: headers"
    DEPENDS "${library_of_this}")
graft_package(python python3-graft python "gravity and Coulomb forces for simulation codes: Python 3"
    ARCHITECTURE all DEPENDS "python3, python3-numpy, libgraft1 (>= ${PROJECT_VERSION})")
foreach(flavour ${GRAFT_MPI_FLAVOURS})
    graft_package(${flavour} libgraft-${flavour} libs "gravity and Coulomb forces for simulation codes: ${flavour}"
        DEPENDS "${library_of_this}")
endforeach()
if(GRAFT_WITH_CLI)
    graft_package(command graft science "gravity and Coulomb forces for simulation codes: command" DEPENDS "${library_of_this}")
endif()
if(GRAFT_CUDA_FOUND)
    graft_package(cuda libgraft-cuda libs "gravity and Coulomb forces for simulation codes: NVIDIA GPUs" DEPENDS "${library_of_this}")
endif()
if(GRAFT_WITH_HOSTS)
    graft_package(hosts graft-hosts science "gravity and Coulomb forces for LAMMPS, AMUSE, NEMO, Phantom, GADGET-4"
        DEPENDS "libgraft1 (>= ${PROJECT_VERSION})")
endif()
# Python looks here; the files stand where those of an installation do.
file(WRITE ${made}/graft.pth "/usr/${CMAKE_INSTALL_DATADIR}/graft/python\n")
install(FILES ${made}/graft.pth DESTINATION lib/python3/dist-packages COMPONENT python EXCLUDE_FROM_ALL)
include(CPack)
