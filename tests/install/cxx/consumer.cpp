// SPDX-License-Identifier: BSD-3-Clause
// A C++ host of the installed tree: two masses, by the table.
#include <graft/functions.h>
#include <graft/views.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
    const graft_api_v1* api = graft_table();
    if (api == nullptr) {
        std::fprintf(stderr, "%s\n", graft_last_error());
        return 1;
    }
    const std::vector<double> x = {0, 0, 0, 0, 2, 0}, mass = {1, 8};
    std::vector<double> a(6);
    const graft_array position = graft_rows_const_f64(x.data(), 2, 3, 3), field = graft_rows_f64(a.data(), 2, 3, 3);
    const graft_array charge = graft_view_const_f64(mass.data(), 2);
    graft_particles particles{};
    particles.struct_size = sizeof particles;
    particles.n = 2;
    particles.position[0] = &position;
    particles.charge = &charge;
    graft_results results{};
    results.struct_size = sizeof results;
    results.acceleration[0] = &field;
    graft_options* options = nullptr;
    graft_context* context = nullptr;
    const char deck[] = "method: direct\nprecision: fp64\n";
    if (api->options_create(&options) != 0 || api->options_read_text(options, deck, sizeof deck - 1, "deck") != 0 ||
        api->context_create(options, nullptr, &context) != 0 || api->compute(context, &particles, &results) != 0) {
        std::fprintf(stderr, "%s\n", api->last_error());
        return 1;
    }
    api->context_destroy(&context);
    api->options_destroy(&options);
    return std::fabs(a[1] - 2) > 1e-12 || std::fabs(a[4] + 0.25) > 1e-12;
}
