# SPDX-License-Identifier: BSD-3-Clause
# Explicit instances of templates, a file each so that they compile side by side. This list makes the files, in the build folder.
set(GRAFT_INSTANCES ${CMAKE_CURRENT_BINARY_DIR}/generated)

# One file for nvcc: a text in a namespace, behind a header. Appended to `list`.
function(graft_gpu_instance list path header namespace text)
    set(file ${GRAFT_INSTANCES}/${path}_gpu.cu)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "// Made by impl/instances.cmake.
#include \"${header}\"

namespace graft::${namespace} {
${text}
} // namespace graft::${namespace}
")
    set(${list} ${${list}} ${file} PARENT_SCOPE)
endfunction()

set(gpu_instances "")
foreach(precision fp32 fp64 mixed)
    set(sums "SumView<Precision::${precision}>")
    foreach(feed Indexed Ranges Record Group)
        graft_gpu_instance(gpu_instances near/targets_${feed}_${precision} near/layouts/target_threads_kernel_gpu.cuh near
            "template void sum_targets<${feed}Feed, Precision::${precision}>(backend::Queue&, Form, bool, const ${sums}&, const ${feed}Feed&, int);")
    endforeach()
    foreach(form laplace logarithm yukawa helmholtz table)
        foreach(dimension 2 3)
            if(dimension EQUAL 3 OR form MATCHES "laplace|logarithm") # the others have no meaning in two dimensions
                graft_gpu_instance(gpu_instances near/tile_${form}_${dimension}d_${precision} near/tiles/tile_kernel_gpu.cuh near
                    "template void sum_tiles_of<Form::${form}, Precision::${precision}, ${dimension}>(backend::Queue&, bool, const ${sums}&,
    const TilesView&, int);")
            endif()
        endforeach()
    endforeach()
endforeach()
foreach(dimension 2 3)
    set(kind "Form::laplace, ${dimension}")
    graft_gpu_instance(gpu_instances near/tile_block_${dimension}d near/tiles/tile_block_gpu.cuh near
        "template void sum_blocks_of<${kind}>(backend::Queue&, int32_t, const SumView<Precision::fp32>&, const TileBlock*, const int2*);")
    graft_gpu_instance(gpu_instances near/mutual_${dimension}d near/mutual_kernel_gpu.cuh near
        "template void sum_mutual_of<${kind}>(backend::Queue&, const SumView<Precision::fp32>&, const MutualView&);")
endforeach()
foreach(real float double)
    graft_gpu_instance(gpu_instances decompose/cut_count_${real} decompose/orb/gpu/cut_count_gpu.cuh decompose
        "template void orb_count<${real}>(backend::Queue&, const OrbView<${real}>&, int, int);
template void orb_count_again<${real}>(backend::Queue&, const OrbView<${real}>&, int, int);")
endforeach()
set(view "backend::Queue&, const EvaluationView&, const TaskView&")
foreach(potential false true)
    graft_gpu_instance(gpu_instances forces/p2p_fast_${potential} forces/p2p/p2p_fast_gpu.cuh forces::fast_pairs
        "template void launch<false, ${potential}>(${view});
template void launch<true, ${potential}>(${view});")
    graft_gpu_instance(gpu_instances forces/m2p_fast_${potential} forces/m2p/m2p_fast_gpu.cuh forces::fast_cells
        "template void launch<false, ${potential}>(${view}, const PackedCell*, const ChargeSigns*);
template void launch<true, ${potential}>(${view}, const PackedCell*, const ChargeSigns*);")
endforeach()
set(exact_gpu_instances "") # compiled as the room they belong to: without fused multiply-adds
foreach(order RANGE 4)
    graft_gpu_instance(exact_gpu_instances moments/order_${order} moments/p2m_m2m_gpu.cuh moments::device
        "template void compute_order<${order}>(backend::Queue&, const MomentsInput&, int64_t);")
endforeach()

# The loops of near/tiles/tile.hpp, once per SIMD target: a kind of number and two forms a file.
set(cpu_instances "")
foreach(number float mixed double) # mixed: float with low parts
    set(type ${number})
    set(low false)
    if(number STREQUAL mixed)
        set(type float)
        set(low true)
    endif()
    foreach(forms laplace,laplace,softened waves,helmholtz,yukawa others,logarithm,table)
        string(REPLACE "," ";" forms ${forms})
        list(GET forms 0 name)
        list(GET forms 1 first)
        list(GET forms 2 second)
        set(path near/tile_${number}_${name}.cpp)
        configure_file(near/tiles/tile_instance.cpp.in ${GRAFT_INSTANCES}/${path} @ONLY)
        list(APPEND cpu_instances ${GRAFT_INSTANCES}/${path})
    endforeach()
endforeach()

# M2L of forces/m2l/m2l_kernel.hpp: a kind of number, with softening or without, a file.
foreach(type float double)
    foreach(softened false true)
        set(path forces/m2l_${type}_${softened}.cpp)
        configure_file(forces/m2l/m2l_instance.cpp.in ${GRAFT_INSTANCES}/${path} @ONLY)
        list(APPEND cpu_instances ${GRAFT_INSTANCES}/${path})
    endforeach()
endforeach()
