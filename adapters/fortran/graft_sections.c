/* A graft_array from a Fortran array descriptor: the address, type and strides that the Fortran compiler
 * wrote, so that a section such as p(:)%x or a(1:n:2) is used where it lies. Compile with the C companion of
 * the Fortran compiler. Source: Fortran 2018 (ISO/IEC 1539-1:2018) 18.5.3, the C descriptor. */
#include <ISO_Fortran_binding.h>
#include <graft/graft.h>

#include <stddef.h>
#include <stdint.h>

graft_array graft_section(const CFI_cdesc_t* section);
graft_array graft_section_by_axis(const CFI_cdesc_t* section);

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
    graft_array array = {0};
    const int has_components = section->rank == 2;
    array.struct_size = (uint32_t)sizeof array;
    if (section->rank < 1 || section->rank > 2 || section->base_addr == NULL || dtype_of(section) == 0)
        return array;
    const int64_t element = (int64_t)section->elem_len, n = section->dim[item].extent;
    const int64_t components = has_components ? section->dim[1 - item].extent : 1;
    const int64_t component_stride = components > 1 ? section->dim[1 - item].sm : element;
    const int64_t item_stride = n > 1 ? section->dim[item].sm : components * component_stride;
    if (n < 0 || components < 1 || components > INT32_MAX || item_stride < 0 || component_stride < 0)
        return array;
    array.data = section->base_addr;
    array.dtype = dtype_of(section);
    array.memory = GRAFT_MEMORY_HOST;
    array.components = (int32_t)components;
    array.n = n;
    array.item_stride = item_stride;
    array.component_stride = component_stride;
    array.bytes = n == 0 ? 0 : (n - 1) * item_stride + (components - 1) * component_stride + element;
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
