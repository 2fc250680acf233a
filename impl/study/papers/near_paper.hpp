// SPDX-License-Identifier: BSD-3-Clause
// The performance model of p2p-data-replication for the near field of a 2-D MLFMA: what its two layouts cost
// and what the second gains, from N, the tree's height L, t (points of the fullest box), D = N / 4^(L-1)
// (mean) and CT (the clustering threshold, which the padding is made for).
//
// The formulas are misprinted in places. Each stands here as printed (the numbers in his text follow from it)
// and, where that is not what his own algorithms 1 to 4 count, as derived; the comment says what differs.
#pragma once

#include <cstdint>
#include <span>

namespace graft::study {

struct PaperNear {
    double points = 1e5;   // N
    int height = 8;        // L: the leaves are 4^(L-1) boxes
    double largest = 15;   // t
    double threshold = 15; // CT

    double boxes() const; // 4^(L-1)
    double mean() const;  // D
};

/// His fitted numbers: section 4.1 and equation 33.
struct PaperNearConstants {
    double lambda_ram = 108, lambda_gpu = 640;
    double alpha = 0.82, beta = 0.09, gamma = 0.18; // of collection, kernel, transfer
};

/// The least height from `least` on for which no box of an even distribution holds more than `threshold`: his
/// rule raises L until t <= CT; an even distribution has t = D.
int paper_height(double points, double threshold, int least = 3);

// ---- Counted operations; m: seconds of one access to memory, find_s: of find_nei(), pair_s: of one pair.

/// Equation 1. Printed without find_nei(), which equation 12 has: derived has it, once a box.
double indexed_collection_s(const PaperNear& near, double m, double find_s);
/// Equations 6 and 7. Printed 4^(L-1) (m + 11 t m + 45 m + t find); equation 6 multiplied out is
/// m + 14 t m + 45 t^2 m + t find (1 + 2 + 1 + 9 + 1 accesses a target, 5 a pair): derived.
double replicated_collection_s(const PaperNear& near, double m, double find_s);
double replicated_collection_printed_s(const PaperNear& near, double m, double find_s);
/// Equations 4 and 5, of one thread (a box): 4 m (11.25 t^2 + t + 1) + 9 t^2 pair. As printed.
double indexed_thread_s(const PaperNear& near, double m, double pair_s);
/// Equation 9, of one thread (a target): 3 m + 9 t (4 m + pair). As printed; equation 18 quotes it as
/// m (9 t + 3) + 9 t pair, without the 4.
double replicated_thread_s(const PaperNear& near, double m, double pair_s);

// ---- Memory

/// Equation 2: 40 N + 4^L (2 + 10 t), 8-byte coordinates and potentials, 4-byte indices. As printed.
double indexed_bytes(const PaperNear& near);
/// Equation 8: 8 N (3 + 27 CT). As printed.
double replicated_bytes(const PaperNear& near);

// ---- Locality

/// What the locality estimate counts for one layout.
struct PaperLocality {
    double banks_of_thread = 0; // that a thread reads from
    double banks = 0;           // that are occupied
    double threads = 0;
    double miss_ratio() const { return banks_of_thread / banks; } // equation 21
    double all_threads() const { return threads * miss_ratio(); } // equation 24
};

/// Equations 21 and 22 with banks of b bytes. Printed: every kind of datum divided by b without rounding, so
/// that b cancels: (8 + 272 t) / (40 N + 4^L (2 + 10 t)).
PaperLocality indexed_locality_printed(const PaperNear& near, double bank_bytes);
/// Derived from the sentence below equation 22 ("placed in separate memory banks"): runs of indices fill
/// whole banks (rounded up), what they point to lies scattered: a bank for each of the 10 D points'
/// coordinates and potentials. The mean number D stands where he puts t.
PaperLocality indexed_locality(const PaperNear& near, double bank_bytes);
/// Derived: a record of 8 (3 + 27 CT) bytes of which 8 (3 + 27 D) are read, of consecutive banks.
PaperLocality replicated_locality(const PaperNear& near, double bank_bytes);
/// Equations 23 and 24: 272 t 4^(L-1) / (40 N + 4^L (2 + 10 t)).
double indexed_miss_ratio(const PaperNear& near);
/// Equation 25: 1 / N.
double replicated_miss_ratio(const PaperNear& near);

// ---- Speed-ups of the replicated layout over the indexed one

/// Equations 13, 15, 16. Printed: lambda / (21.6 t D). In equation 14 the indices are 4^L (2 + 10 t) bytes, 4
/// for each box; 15 puts 4^(L-1) there. Derived (larger terms): lambda / (5.4 t D).
double collection_speed_up_printed(const PaperNear& near, double lambda_ram);
double collection_speed_up(const PaperNear& near, double lambda_ram);
/// Equation 14 in full, over t: nothing dropped.
double collection_speed_up_full(const PaperNear& near, double lambda_ram);
/// Equation 15 without lambda (section 3.3). Printed 1 / (21.6 D); derived: the bytes' ratio of 2 and 8.
double transfer_speed_up_printed(const PaperNear& near);
double transfer_speed_up(const PaperNear& near);
/// Equation 28, printed: 55.31 lambda t / (N D). It is 4/3 t / D (equation 18) times 41.48 lambda / N (27);
/// the step from 26 to 41.48 cannot be read. Equation 26 is the misses of the replicated layout over those of
/// the indexed one, so 27 falls with N where the sentence before 19 lets it grow.
double kernel_speed_up_printed(const PaperNear& near, double lambda_gpu);
/// Derived: equation 17 where an access takes time in proportion to the banks that a thread reads an access:
/// the accesses cancel, banks are left, without lambda and without 1 / N. Without arithmetic, as in 18.
double kernel_speed_up(const PaperNear& near, double bank_bytes);

/// Equation 11 with measured or modelled speed-ups. Exact when alpha, beta, gamma are the three phases'
/// shares of the replicated layout's time (they then add up to 1; his add up to 1.09).
double total_speed_up(const PaperNearConstants& c, double collection, double transfer, double kernel);
/// Equation 29: as printed.
double total_speed_up_printed(const PaperNear& near, const PaperNearConstants& c);
/// Equations 34 and 35: the same after the tree has grown by i levels: t and D shrink by 4^i.
double total_speed_up_printed(PaperNear near, const PaperNearConstants& c, int growth);
PaperNear grown(PaperNear near, int growth);
/// The second line of 35: 4^(2i) alpha + 4^i gamma + beta, his "more than 13 times" at i = 1.
double growth_speed_up_printed(const PaperNearConstants& c, int growth);

// ---- Limits

/// Equation 30: the largest collection speed-up, lambda / (21.6 t D) at t = `largest`, D = 1. (Printed 1.25.)
double collection_limit_printed(double largest, double mean, double lambda_ram);
/// Equations 31 and 32: the N up to which the replicated kernel is not slower, 55.31 lambda t / D.
double kernel_limit_printed(double largest, double mean, double lambda_gpu);

// ---- Fits

/// His way: the mean of measured over modelled (with lambda 1).
double fit_by_mean(std::span<const double> measured, std::span<const double> modelled);
/// Least squares of measured = lambda modelled.
double fit_by_squares(std::span<const double> measured, std::span<const double> modelled);

/// Speed-ups of one measured problem.
struct PaperMeasurement {
    PaperNear near;
    double collection = 0, transfer = 0, kernel = 0, total = 0;
};
/// All five by least squares: lambda of equations 16 and 28, alpha, beta, gamma of 11 from the measured
/// speed-ups (as in his section 4.1.3). At least 3 measurements; Throws Error(argument) when they do not
/// determine them.
PaperNearConstants fit_paper_near(std::span<const PaperMeasurement> measurements);

} // namespace graft::study
