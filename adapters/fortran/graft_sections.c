/* SPDX-License-Identifier: BSD-3-Clause */
/* A graft_array from a Fortran array descriptor: the address, type and strides that the Fortran compiler
 * wrote, so that a section such as p(:)%x or a(1:n:2) is used where it lies. Compile with the C companion of
 * the Fortran compiler. Source: Fortran 2018 (ISO/IEC 1539-1:2018) 18.5.3, the C descriptor. */
#include <ISO_Fortran_binding.h>
#include <graft/graft.h>
#include <graft/views.h>

#include <stddef.h>
#include <stdint.h>

graft_array graft_section(const CFI_cdesc_t* section);
graft_array graft_section_const(const CFI_cdesc_t* section);
graft_array graft_section_by_axis(const CFI_cdesc_t* section);
graft_array graft_section_by_axis_const(const CFI_cdesc_t* section);

/* The graft code of an element type; 0 for one that Graft has no use for. CFI types of equal meaning share a
 * number with some compilers, hence no switch. */
static int32_t dtype_of(const CFI_cdesc_t* section) {
    if (section->type == CFI_type_float || (section->type == CFI_type_double && section->elem_len == 4))
        return GRAFT_F32;
    if (section->type == CFI_type_double)
        return GRAFT_F64;
    if (section->type == CFI_type_int32_t || section->type == CFI_type_int)
        return GRAFT_I32;
    if (section->type == CFI_type_int64_t || section->type == CFI_type_long_long)
        return GRAFT_I64;
    return 0;
}

/* Dimension `item` counts particles, the other one, if any, components. dtype 0 stands for "cannot be
 * described". */
static graft_array describe(const CFI_cdesc_t* section, int item) {
    graft_array nothing = {0};
    const int has_components = section->rank == 2;
    nothing.struct_size = (uint32_t)sizeof nothing;
    if (section->rank < 1 || section->rank > 2 || section->base_addr == NULL || dtype_of(section) == 0)
        return nothing;
    const int64_t element = (int64_t)section->elem_len, n = section->dim[item].extent;
    const int64_t components = has_components ? section->dim[1 - item].extent : 1;
    const int64_t component_stride = components > 1 ? section->dim[1 - item].sm : element;
    const int64_t item_stride = n > 1 ? section->dim[item].sm : components * component_stride;
    if (n < 0 || components < 1 || components > INT32_MAX || item_stride < 0 || component_stride < 0)
        return nothing;
    return graft_view(section->base_addr, dtype_of(section), n, (int32_t)components, item_stride,
                      component_stride);
}

static graft_array read_only(graft_array array) {
    array.flags |= GRAFT_ARRAY_READ_ONLY;
    return array;
}

/* a(n), or a(components, n). */
graft_array graft_section(const CFI_cdesc_t* section) {
    return describe(section, section->rank == 2 ? 1 : 0);
}

/* a(n, components). */
graft_array graft_section_by_axis(const CFI_cdesc_t* section) {
    return describe(section, 0);
}

/* The same of arrays that are only read. */
graft_array graft_section_const(const CFI_cdesc_t* section) {
    return read_only(graft_section(section));
}

graft_array graft_section_by_axis_const(const CFI_cdesc_t* section) {
    return read_only(graft_section_by_axis(section));
}
