// ORB on a GPU measured: what `graft bench orb --backend cuda` prints.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace graft::study {

/// `graft bench orb --backend cuda`: arguments as (key, text) pairs, the answer as JSON. Throws
/// Error(argument) for what is not known, Error(device) without a device, Error(memory).
std::string bench_device_orb(const std::vector<std::pair<std::string, std::string>>& arguments);

} // namespace graft::study
