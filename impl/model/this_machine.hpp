// SPDX-License-Identifier: BSD-3-Clause
// Whether a machine file was measured on this machine.
#pragma once

#include "model/machine.hpp"

#include <string>

namespace graft::model {

/// "model name" of /proc/cpuinfo, "" where there is none: cpu.name of a machine file.
std::string processor_name();

/// Throws Error(argument) when the near field's model cannot use `machine` on this host: it has no numbers of
/// layouts (near.layouts), or it is of another processor (cpu.name, where the file tells it). `file` is its
/// name in the message.
void require_this_machine(const Machine& machine, const std::string& file);

} // namespace graft::model
