# SPDX-License-Identifier: BSD-3-Clause
# Writes backend/build_id.hpp: one hash over all headers under FOLDER, in order of their names.
file(GLOB_RECURSE headers ${FOLDER}/*.hpp ${FOLDER}/*.cuh)
list(SORT headers)
set(all "")
foreach(header IN LISTS headers)
    file(SHA256 ${header} hash)
    string(APPEND all "${hash}")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 32 id)
file(WRITE ${OUTPUT} "// Made by build_id.cmake.\n#pragma once\nnamespace graft::backend {\ninline constexpr char build_id[] = \"${id}\";\n}\n")
