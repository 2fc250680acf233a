// SPDX-License-Identifier: BSD-3-Clause
// Which handles that hosts hold are objects: one that was destroyed, or was never made, is told from one in
// use, and its memory is not looked at. One lock for all, for the time of a look-up.
#pragma once

#include <mutex>
#include <unordered_set>

namespace graft::capi {

class Living {
  public:
    void add(const void* object) {
        const std::lock_guard lock(mutex_);
        objects_.insert(object);
    }
    void remove(const void* object) noexcept {
        const std::lock_guard lock(mutex_);
        objects_.erase(object);
    }
    bool has(const void* object) noexcept {
        const std::lock_guard lock(mutex_);
        return objects_.contains(object);
    }

    /// Of all contexts and options. Never destroyed: hosts call at their own exit, too.
    static Living& here() {
        static Living& all = *new Living;
        return all;
    }

  private:
    std::mutex mutex_;
    std::unordered_set<const void*> objects_;
};

/// A member of each object behind a handle, the last one: alive from here to the destructor.
class Alive {
  public:
    explicit Alive(const void* object) : object_(object) { Living::here().add(object); }
    ~Alive() { Living::here().remove(object_); }
    Alive(const Alive&) = delete;
    Alive& operator=(const Alive&) = delete;

  private:
    const void* object_;
};

} // namespace graft::capi
