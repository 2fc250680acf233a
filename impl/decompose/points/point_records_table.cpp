// SPDX-License-Identifier: BSD-3-Clause
// See point_records_table.hpp.
#include "decompose/points/point_records_table.hpp"

#include "core/timer.hpp"
#include "decompose/orb/level_gpu.hpp"
#include "decompose/orb/orb_table.hpp"

namespace graft::decompose {

DeviceRecords::~DeviceRecords() {
    if (records_ != nullptr)
        table_->release(records_);
}

bool DeviceRecords::start(const Problem& problem, const KeyFrame (&frame)[3]) {
    const backend::CudaTable* cuda =
        problem.points.n >= problem.options.device_least ? find_device(problem) : nullptr;
    if (cuda == nullptr || cuda->orb == nullptr || cuda->orb->records == nullptr)
        return false;
    table_ = cuda->orb->records;
    const int32_t device = device_of(*cuda, problem);
    if (records_ != nullptr && device_ != device) {
        table_->release(records_);
        records_ = nullptr;
    }
    backend::DeviceError error;
    if (device < 0 || (records_ == nullptr && table_->create(device, &records_, &error) != 0)) {
        records_ = nullptr;
        return false;
    }
    device_ = device;
    error_ = nullptr;
    core::Timer timer;
    const RecordsStart begin{problem.points,
                             {frame[0], frame[1], frame[2]},
                             problem.weights.scale(),
                             implied_id(problem.comm.rank(), 0),
                             problem.options.dimension,
                             problem.options.parts,
                             problem.executor.threads};
    const bool started = table_->start(records_, &begin, &error) == 0;
    upload_s_ = timer.seconds();
    if (!started) { // what it holds may be what the next one lacks
        table_->release(records_);
        records_ = nullptr;
    }
    return started;
}

template <typename Call>
void DeviceRecords::ask(Call&& call) {
    if (error_)
        return;
    backend::DeviceError error;
    const int32_t status = call(error);
    error_ = caught([&] { backend::raise(status, error); });
}

void DeviceRecords::check() const {
    if (error_)
        std::rethrow_exception(error_);
}

void DeviceRecords::sample(int side, const std::vector<RecordsCell>& cells, int64_t each, uint64_t* out) {
    ask([&](backend::DeviceError& error) {
        return table_->sample(records_, side, cells.data(), static_cast<int64_t>(cells.size()), each, out,
                              &error);
    });
}

void DeviceRecords::sweep(int side, const std::vector<RecordsCell>& cells, std::vector<RecordSum>& counters) {
    ask([&](backend::DeviceError& error) {
        return table_->sweep(records_, side, cells.data(), static_cast<int64_t>(cells.size()),
                             static_cast<int64_t>(counters.size()), counters.data(), &error);
    });
}

void DeviceRecords::find_few(int side, const std::vector<RecordsCell>& cells, std::vector<int64_t>& found) {
    found.assign(cells.size(), 0);
    ask([&](backend::DeviceError& error) {
        return table_->find_few(records_, side, cells.data(), static_cast<int64_t>(cells.size()),
                                found.data(), &error);
    });
}

void DeviceRecords::fetch_few(const std::vector<RecordsCell>& cells, const std::vector<int64_t>& found,
                              Candidate* out) {
    ask([&](backend::DeviceError& error) {
        return table_->fetch_few(records_, cells.data(), static_cast<int64_t>(cells.size()), found.data(),
                                 out, &error);
    });
}

void DeviceRecords::split(int side, const std::vector<RecordsCut>& cuts, std::vector<int64_t>& left) {
    left.assign(cuts.size(), 0);
    ask([&](backend::DeviceError& error) {
        return table_->split(records_, side, cuts.data(), static_cast<int64_t>(cuts.size()), left.data(),
                             &error);
    });
}

void DeviceRecords::finish(const std::vector<int64_t>& part_end, int32_t* owner, int32_t* order) {
    ask([&](backend::DeviceError& error) {
        return table_->finish(records_, part_end.data(), static_cast<int32_t>(part_end.size()), owner, order,
                              &error);
    });
}

} // namespace graft::decompose
