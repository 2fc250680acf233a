/* SPDX-License-Identifier: BSD-3-Clause */
/* Views of a host's memory as graft_array, from typed pointers. C99, static inline, nothing to link.
 *
 *   graft_array x = graft_view_f64(x_data, n);                     x(n) alone
 *   graft_array p = graft_rows_const_f64(xyzh, n, 3, 4);           the first 3 of 4 numbers of each particle
 *   graft_array s = graft_columns_f64(data, n, 3, ld);             data(ld,3): axis after axis, ld >= n
 *
 * A view made of a pointer to const is read-only: the library refuses it as a result. Memory is AUTO (asked of the GPU's
 * driver where a GPU may be used); set `.memory` and `.device` where the host knows. A view ends with the memory it is of. */
#ifndef GRAFT_VIEWS_H
#define GRAFT_VIEWS_H

#include <graft/types.h>

/* n items of `components` numbers of dtype; strides in bytes, item_stride 0 = packed, component_stride 0 = one element. */
static inline graft_array graft_view(void *data, int32_t dtype, int64_t n, int32_t components, int64_t item_stride,
                                     int64_t component_stride) {
    const int64_t element = dtype == GRAFT_F32 || dtype == GRAFT_I32 ? 4 : 8;
    const int64_t item = item_stride != 0 ? item_stride : components * element;
    const int64_t component = component_stride != 0 ? component_stride : element;
    graft_array view; /* member by member: C++ compilers warn of `= {0}` */
    view.struct_size = (uint32_t)sizeof view;
    view.flags = 0;
    view.data = data;
    view.dtype = dtype;
    view.memory = GRAFT_MEMORY_AUTO;
    view.device = 0;
    view.components = components;
    view.n = n;
    view.item_stride = item;
    view.component_stride = component;
    view.bytes = n > 0 ? (n - 1) * item + (components - 1) * component + element : 0;
    view.reserved[0] = view.reserved[1] = view.reserved[2] = view.reserved[3] = 0;
    return view;
}

/* The same of memory that is only read. */
static inline graft_array graft_view_const(const void *data, int32_t dtype, int64_t n, int32_t components,
                                           int64_t item_stride, int64_t component_stride) {
    union {
        const void *given;
        void *kept;
    } pointer = {data}; /* a graft_array's pointer is not const; its flag is */
    graft_array view = graft_view(pointer.kept, dtype, n, components, item_stride, component_stride);
    view.flags = GRAFT_ARRAY_READ_ONLY;
    return view;
}

/* For each element type: view (n numbers), rows (AoS: `row` numbers from item to item, 0 = components), columns (SoA:
 * `column` numbers from component to component), each of memory that is written or only read. */
#define GRAFT_VIEWS_OF(suffix, type, dtype)                                                                              \
    static inline graft_array graft_view_##suffix(type *data, int64_t n) {                                             \
        return graft_view(data, dtype, n, 1, 0, 0);                                                                   \
    }                                                                                                                  \
    static inline graft_array graft_view_const_##suffix(const type *data, int64_t n) {                                 \
        return graft_view_const(data, dtype, n, 1, 0, 0);                                                             \
    }                                                                                                                  \
    static inline graft_array graft_rows_##suffix(type *data, int64_t n, int32_t components, int64_t row) {            \
        return graft_view(data, dtype, n, components, row * (int64_t)sizeof(type), 0);                                \
    }                                                                                                                  \
    static inline graft_array graft_rows_const_##suffix(const type *data, int64_t n, int32_t components, int64_t row) { \
        return graft_view_const(data, dtype, n, components, row * (int64_t)sizeof(type), 0);                          \
    }                                                                                                                  \
    static inline graft_array graft_columns_##suffix(type *data, int64_t n, int32_t components, int64_t column) {      \
        return graft_view(data, dtype, n, components, (int64_t)sizeof(type), column * (int64_t)sizeof(type));         \
    }                                                                                                                  \
    static inline graft_array graft_columns_const_##suffix(const type *data, int64_t n, int32_t components,            \
                                                           int64_t column) {                                           \
        return graft_view_const(data, dtype, n, components, (int64_t)sizeof(type), column * (int64_t)sizeof(type));   \
    }
GRAFT_VIEWS_OF(f32, float, GRAFT_F32)
GRAFT_VIEWS_OF(f64, double, GRAFT_F64)
GRAFT_VIEWS_OF(i32, int32_t, GRAFT_I32)
GRAFT_VIEWS_OF(i64, int64_t, GRAFT_I64)
GRAFT_VIEWS_OF(u64, uint64_t, GRAFT_U64)
#undef GRAFT_VIEWS_OF

#endif
