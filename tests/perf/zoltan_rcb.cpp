// SPDX-License-Identifier: BSD-3-Clause
// Zoltan's recursive coordinate bisection on the input of `graft bench orb` (the same points and weights on the same
// ranks): what people use today, for tests/perf/compare_orb.py. Prints one JSON line.
//
// usage: mpiexec -n P zoltan_rcb N plummer|uniform unit|lognormal PARTS TOLERANCE REPEATS
// Time: Zoltan_LB_Partition alone, the slowest rank's, best of REPEATS after one that is not counted. What it gives is
// what decompose gives: the part of every local point. `move` sends the 32-byte records on with one MPI_Alltoallv.
#include "ic/points.hpp"

#include <mpi.h>
#include <zoltan.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using graft::cli::PointRecord;
using graft::cli::PointSet;
using graft::cli::PointWeights;

struct Input {
    std::vector<PointRecord> points;
    std::int64_t begin = 0;
};

int count_of(void* data, int* error) {
    *error = ZOLTAN_OK;
    return static_cast<int>(static_cast<Input*>(data)->points.size());
}

void list_of(void* data, int, int, ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR local, int weights, float* weight, int* error) {
    const Input& input = *static_cast<Input*>(data);
    for (std::size_t i = 0; i < input.points.size(); ++i) {
        global[i] = static_cast<ZOLTAN_ID_TYPE>(input.begin + static_cast<std::int64_t>(i));
        local[i] = static_cast<ZOLTAN_ID_TYPE>(i);
        if (weights > 0)
            weight[i] = static_cast<float>(input.points[i].weight);
    }
    *error = ZOLTAN_OK;
}

int dimensions(void*, int* error) {
    *error = ZOLTAN_OK;
    return 3;
}

void positions(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR local, int, double* out, int* error) {
    const Input& input = *static_cast<Input*>(data);
    for (int i = 0; i < count; ++i)
        std::memcpy(out + 3 * static_cast<std::size_t>(i), &input.points[local[i]], 3 * sizeof(double));
    *error = ZOLTAN_OK;
}

Zoltan_Struct* make_zoltan(Input& input, bool weighted, int parts, const char* tolerance) {
    Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
    const auto set = [&](const char* key, const std::string& value) { Zoltan_Set_Param(zoltan, key, value.c_str()); };
    set("LB_METHOD", "RCB");
    set("DEBUG_LEVEL", "0");
    set("NUM_GLOBAL_PARTS", std::to_string(parts));
    set("NUM_GID_ENTRIES", "1");
    set("NUM_LID_ENTRIES", "1");
    set("OBJ_WEIGHT_DIM", weighted ? "1" : "0");
    set("RETURN_LISTS", "PARTS");
    set("IMBALANCE_TOL", tolerance);
    Zoltan_Set_Num_Obj_Fn(zoltan, count_of, &input);
    Zoltan_Set_Obj_List_Fn(zoltan, list_of, &input);
    Zoltan_Set_Num_Geom_Fn(zoltan, dimensions, nullptr);
    Zoltan_Set_Geom_Multi_Fn(zoltan, positions, &input);
    return zoltan;
}

double seconds_of_slowest(double start) {
    double mine = MPI_Wtime() - start, most = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

struct Answer {
    double partition_s = 1e300, move_s = 1e300, imbalance_count = 0, imbalance_weight = 0;
};

double imbalance(std::vector<double>& of_part) {
    std::vector<double> all(of_part.size());
    MPI_Allreduce(of_part.data(), all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double sum = 0;
    for (const double value : all)
        sum += value;
    return *std::max_element(all.begin(), all.end()) * static_cast<double>(all.size()) / sum;
}

void move_records(const Input& input, const int* part, int ranks) {
    MPI_Datatype record;
    MPI_Type_contiguous(sizeof(PointRecord), MPI_BYTE, &record);
    MPI_Type_commit(&record);
    std::vector<int> out(ranks), in(ranks), out_at(ranks + 1), in_at(ranks + 1);
    for (std::size_t i = 0; i < input.points.size(); ++i)
        ++out[part[i]];
    MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r) {
        out_at[r + 1] = out_at[r] + out[r];
        in_at[r + 1] = in_at[r] + in[r];
    }
    std::vector<PointRecord> send(input.points.size()), received(static_cast<std::size_t>(in_at[ranks]));
    std::vector<int> next(out_at.begin(), out_at.end() - 1);
    for (std::size_t i = 0; i < input.points.size(); ++i)
        send[static_cast<std::size_t>(next[part[i]]++)] = input.points[i];
    MPI_Alltoallv(send.data(), out.data(), out_at.data(), record, received.data(), in.data(), in_at.data(), record,
                  MPI_COMM_WORLD);
    MPI_Type_free(&record);
}

void measure(Zoltan_Struct* zoltan, const Input& input, int parts, bool counts, Answer& answer) {
    int changes, gids, lids, imports, exports, ranks;
    ZOLTAN_ID_PTR import_gid = nullptr, import_lid = nullptr, export_gid = nullptr, export_lid = nullptr;
    int *import_rank = nullptr, *import_part = nullptr, *export_rank = nullptr, *export_part = nullptr;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    const int status = Zoltan_LB_Partition(zoltan, &changes, &gids, &lids, &imports, &import_gid, &import_lid,
                                           &import_rank, &import_part, &exports, &export_gid, &export_lid, &export_rank,
                                           &export_part);
    const double partition_s = seconds_of_slowest(start);
    if (status != ZOLTAN_OK && status != ZOLTAN_WARN)
        MPI_Abort(MPI_COMM_WORLD, 1);
    std::vector<double> count(parts), weight(parts);
    for (int i = 0; i < exports; ++i) {
        count[export_part[i]] += 1;
        weight[export_part[i]] += input.points[export_lid[i]].weight;
    }
    answer.imbalance_count = imbalance(count);
    answer.imbalance_weight = imbalance(weight);
    if (parts == ranks && ranks > 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        move_records(input, export_part, ranks);
        const double move_s = seconds_of_slowest(start);
        answer.move_s = counts ? std::min(answer.move_s, move_s) : answer.move_s;
    }
    answer.partition_s = counts ? std::min(answer.partition_s, partition_s) : answer.partition_s;
    Zoltan_LB_Free_Part(&import_gid, &import_lid, &import_rank, &import_part);
    Zoltan_LB_Free_Part(&export_gid, &export_lid, &export_rank, &export_part);
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    float version = 0;
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 7 || Zoltan_Initialize(argc, argv, &version) != ZOLTAN_OK) {
        if (rank == 0)
            std::fprintf(stderr, "usage: zoltan_rcb N plummer|uniform unit|lognormal PARTS TOLERANCE REPEATS\n");
        MPI_Finalize();
        return 2;
    }
    const std::int64_t n = std::atoll(argv[1]);
    const PointSet set = std::strcmp(argv[2], "uniform") == 0 ? PointSet::uniform : PointSet::plummer;
    const bool weighted = std::strcmp(argv[3], "unit") != 0;
    const int parts = std::atoi(argv[4]), repeats = std::atoi(argv[6]);
    Input input;
    input.begin = n * rank / ranks;
    for (std::int64_t i = input.begin; i < n * (rank + 1) / ranks; ++i)
        input.points.push_back(graft::cli::make_point(set, weighted ? PointWeights::lognormal : PointWeights::unit, 42,
                                                      static_cast<std::uint64_t>(i)));
    Answer answer;
    Zoltan_Struct* zoltan = make_zoltan(input, weighted, parts, argv[5]);
    for (int run = 0; run <= repeats; ++run)
        measure(zoltan, input, parts, run > 0 || repeats == 0, answer);
    Zoltan_Destroy(&zoltan);
    if (rank == 0)
        std::printf("{\"n\": %lld, \"ranks\": %d, \"parts\": %d, \"partition_s\": %.6f, \"move_s\": %.6f, "
                    "\"imbalance_count\": %.6f, \"imbalance_weight\": %.6f, \"zoltan\": %.1f}\n",
                    static_cast<long long>(n), ranks, parts, answer.partition_s, answer.move_s < 1e299 ? answer.move_s : 0,
                    answer.imbalance_count, answer.imbalance_weight, static_cast<double>(version));
    MPI_Finalize();
    return 0;
}
