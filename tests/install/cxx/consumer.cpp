// A C++ host of the installed tree: two masses, by the table.
#include <graft/functions.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
    const graft_api_v1* api = graft_table();
    if (api == nullptr) {
        std::fprintf(stderr, "%s\n", graft_last_error());
        return 1;
    }
    std::vector<double> x = {0, 0, 0, 0, 2, 0}, mass = {1, 8}, a(6);
    const auto view = [](std::vector<double>& data, int components) {
        graft_array array{};
        array.struct_size = sizeof array;
        array.data = data.data();
        array.dtype = GRAFT_F64;
        array.memory = GRAFT_MEMORY_HOST;
        array.components = components;
        array.n = 2;
        array.bytes = static_cast<int64_t>(data.size() * sizeof(double));
        return array;
    };
    const graft_array position = view(x, 3), charge = view(mass, 1), field = view(a, 3);
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
