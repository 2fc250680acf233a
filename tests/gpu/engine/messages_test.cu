// SPDX-License-Identifier: BSD-3-Clause
// Messages of the in-process ranks between memory of GPUs and of the host.

#include "library_fixture.hpp"
#include "ranks_in_turns.hpp"

#include <numeric>
#include <vector>

namespace {

using namespace graft;

/// A number of values in a GPU's memory, or in the host's (device -1).
class Values {
  public:
    Values(int device, const std::vector<int64_t>& from) : device_(device), host_(from) {
        if (device_ < 0)
            return;
        backend::DeviceError error;
        backend::raise(backend::require_cuda().allocate(device_, bytes(), &data_, &error), error);
        backend::raise(backend::require_cuda().copy(data_, host_.data(), bytes(), &error), error);
    }
    ~Values() {
        if (device_ >= 0)
            backend::require_cuda().release(device_, data_);
    }
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;
    int64_t bytes() const { return static_cast<int64_t>(host_.size() * sizeof(int64_t)); }
    void* data() { return device_ >= 0 ? data_ : host_.data(); }
    std::vector<int64_t> read() {
        backend::DeviceError error;
        if (device_ >= 0)
            backend::raise(backend::require_cuda().copy(host_.data(), data_, bytes(), &error), error);
        return host_;
    }

  private:
    int device_;
    std::vector<int64_t> host_;
    void* data_ = nullptr;
};

using Messages = graft::test::LibraryTest;

TEST_F(Messages, BetweenMemoryOfAnyDeviceAndTheHost) {
    graft::test::run_ranks(2, [&](comm::Communicator& comm) {
        EXPECT_TRUE(comm.device_aware());
        int tag = 0;
        for (const size_t count : {1u, 2000u, 300001u}) // kept by the inbox, and not
            for (const int from : {-1, 0, devices - 1})
                for (const int to : {-1, 0, devices - 1})
                    for (const bool send_first : {true, false}) {
                        std::vector<int64_t> sent(count);
                        std::iota(sent.begin(), sent.end(), int64_t{1000} * ++tag);
                        Values values(comm.rank() == 0 ? from : to,
                                      comm.rank() == 0 ? sent : std::vector<int64_t>(count, -1));
                        if ((comm.rank() == 0) != send_first)
                            comm.barrier();
                        comm::Request request = comm.rank() == 0
                                                    ? comm.isend(values.data(), values.bytes(), 1, tag)
                                                    : comm.irecv(values.data(), values.bytes(), 0, tag);
                        if ((comm.rank() == 0) == send_first)
                            comm.barrier();
                        comm.wait_all(1, &request);
                        EXPECT_EQ(values.read(), sent) << count << " from " << from << " to " << to;
                    }
    });
}

} // namespace
