// Packing of cells: one column per cell, one row per number.
#include "kernels/cells.hpp"

namespace graft::kernels {

template <typename T>
void CellBuffer<T>::fill(const moments::Moments& moments, const T* expansion, const int32_t* nodes, int64_t count,
                         const Frame& frame, const CellVariant& variant) {
    const int size = moments::record_size(moments.order, variant.softened);
    values_.resize((header + size) * stride);
    padded_ = (count + source_pad - 1) / source_pad * source_pad;
    T* const x = values_.data();
    T* const coefficients = x + header * stride;
    const double scale = frame.scale;
    for (int64_t j = 0; j < count; ++j) {
        const int32_t node = nodes[j];
        x[j] = static_cast<T>((moments.cx[node] - frame.centre[0]) * scale);
        x[stride + j] = static_cast<T>((moments.cy[node] - frame.centre[1]) * scale);
        x[2 * stride + j] = static_cast<T>((moments.cz[node] - frame.centre[2]) * scale);
        x[3 * stride + j] = static_cast<T>(moments.rho[node] * scale);
        x[4 * stride + j] = variant.per_particle
                                ? static_cast<T>(0.5 * moments.softening_square[node] * scale * scale)
                                : T(0);
        const T* record = expansion + static_cast<int64_t>(node) * size;
        for (int k = 0; k < size; ++k)
            coefficients[k * stride + j] = record[k];
    }
    for (int64_t j = count; j < padded_; ++j) { // the place of the last real cell, which is away from all targets
        for (int row = 0; row < header; ++row)
            x[row * stride + j] = x[row * stride + count - 1];
        for (int k = 0; k < size; ++k)
            coefficients[k * stride + j] = T(0);
    }
}

template <typename T>
Cells<T> CellBuffer<T>::view() const {
    const T* x = values_.data();
    return {x, x + stride, x + 2 * stride, x + 3 * stride, x + 4 * stride, x + header * stride, stride, padded_};
}

template class CellBuffer<float>;
template class CellBuffer<double>;

} // namespace graft::kernels
