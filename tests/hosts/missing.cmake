# SPDX-License-Identifier: BSD-3-Clause
# The test of a required host that is not here: fails and says what to install. usage: cmake -DWHY=... -P missing.cmake
message(FATAL_ERROR "${WHY}")
