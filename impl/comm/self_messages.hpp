// SPDX-License-Identifier: BSD-3-Clause
// Messages of one rank to itself: what is left of point-to-point when there are no peers.
//
// Sends and receives are matched when the second of the two is started, in order within a tag; a send is
// complete at once (its bytes are copied), a receive when its send has been started.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace graft::comm {

class SelfMessages {
  public:
    /// Both return a request. Throw Error(communication) when the two sides of a message differ in size.
    int64_t send(const void* data, int64_t bytes, int tag);
    int64_t receive(void* data, int64_t bytes, int tag);
    /// Throws Error(communication) for a receive whose message was never sent: it would wait for ever.
    void wait(int64_t request);

  private:
    struct Receive {
        int64_t request;
        void* data;
        int64_t bytes;
    };
    struct Channel {
        std::deque<std::vector<char>> sent;
        std::deque<Receive> wanted;
    };
    std::map<int, Channel> channels_;
    std::map<int64_t, int> open_; // receives without their message: request -> tag
    int64_t next_request_ = 1;
};

} // namespace graft::comm
