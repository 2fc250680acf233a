// SPDX-License-Identifier: BSD-3-Clause
// Answers of the models as text.
#pragma once

#include "study/calibrate/calibrate.hpp"

#include <string>

namespace graft::study {

/// The paper's equations and the model put right, with every step's seconds, bytes and launches.
std::string orb_json(const OrbRun& run, const PaperOrb& paper, const model::Machine& machine);
/// "machine,model,variant,step,seconds,bytes,launches" lines, without a heading; step "total" sums.
std::string orb_csv(const OrbRun& run, const PaperOrb& paper, const model::Machine& machine);
/// Peaks, ridges and what bounds count-left, for 1, 2, 4 ... cores and for a GPU (figures 10 to 14).
std::string roofline_json(const model::Machine& machine);
/// A calibrated machine's values by the file's keys, and what the calibration took.
std::string machine_json(const model::Machine& machine, double seconds,
                         const CalibrationReport& report);
/// Every key of the machine file with unit and meaning.
std::string machine_schema_json();

} // namespace graft::study
