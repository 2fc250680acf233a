// SPDX-License-Identifier: BSD-3-Clause
// The ranks of an mpiexec as the shim beside libgraft makes them; this program links no MPI.
#pragma once

#include <graft/graft_mpi_loader.h>

#include <graft/types.h>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace soak {

class MpiWorld {
  public:
    /// Ends the program where MPI does not start: nothing can be tried then.
    explicit MpiWorld(const char* family) {
        char why[2048];
        int32_t status = GRAFT_OK;
        shim_ = graft_open_mpi_shim(family, &status, why, sizeof why);
        if (shim_ == nullptr)
            stop(why);
        if (call<int32_t()>("graft_mpi_start")() != GRAFT_OK)
            stop(error());
        if (call<int32_t(graft_comm_v1**)>("graft_mpi_world")(&all_) != GRAFT_OK)
            stop(error());
    }
    ~MpiWorld() {
        all_->comm_free(all_);
        call<int32_t()>("graft_mpi_finish")();
    }
    MpiWorld(const MpiWorld&) = delete;
    MpiWorld& operator=(const MpiWorld&) = delete;

    int32_t rank() const { return all_->rank; }

    /// A new table over the first `size` ranks, or over the others: what failed in an earlier one is forgotten.
    graft_comm_v1* table(int size) const {
        graft_comm_v1* some = nullptr;
        if (all_->comm_split(all_->self, rank() < size ? 0 : 1, 0, &some) != GRAFT_OK)
            stop(all_->comm_error_text(all_->self));
        return some;
    }

  private:
    template <typename Function>
    Function* call(const char* name) const {
        void* symbol = dlsym(shim_, name);
        if (symbol == nullptr)
            stop(name);
        Function* function = nullptr;
        std::memcpy(&function, &symbol, sizeof function);
        return function;
    }
    const char* error() const { return call<const char*()>("graft_mpi_error")(); }
    [[noreturn]] static void stop(const char* why) {
        std::fprintf(stderr, "%s\n", why);
        std::_Exit(2);
    }

    void* shim_;
    graft_comm_v1* all_ = nullptr;
};

} // namespace soak
