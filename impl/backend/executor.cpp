// How many threads a computation gets.
#include "backend/executor.hpp"

namespace graft::backend {

int resolve_threads(int threads) noexcept {
#ifdef _OPENMP
    return threads > 0 ? threads : std::max(1, omp_get_max_threads());
#else
    (void)threads;
    return 1;
#endif
}

} // namespace graft::backend
