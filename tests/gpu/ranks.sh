#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Several GPUs of one host: the tests of forces over ranks in process; errors and times, in process and under mpiexec where
# there is one.
set -u
usage() {
    cat <<'TEXT'
usage: tests/gpu/ranks.sh --build BUILD --out FOLDER [--full]

  --build BUILD      build folder; BUILD/bin has the programs
  --out FOLDER       where logs and ranks.jsonl go
  --full             up to 2.6e8 particles, else 4e6

exit status: 0 all right, 77 nothing to do here (no GPU), 2 not understood, else failed
TEXT
}
build="" out="" full=0
while [ $# -gt 0 ]; do
    case $1 in
        --build) build=$2; shift 2 ;;
        --out) out=$2; shift 2 ;;
        --full) full=1; shift ;;
        -h | --help) usage; exit 0 ;;
        *) echo "ranks.sh: '$1' is not understood" >&2; usage >&2; exit 2 ;;
    esac
done
[ -n "$build" ] && [ -n "$out" ] || { echo "ranks.sh: --build and --out are needed" >&2; exit 2; }
devices=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then # which nvidia-smi does not look at
    seen=$(tr , '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .)
    devices=$((seen < devices ? seen : devices))
fi
[ "$devices" -ge 1 ] || exit 77
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # Open MPI 5
mkdir -p "$out"
lines=$out/ranks.jsonl
: > "$lines"
failed=0
"$build/bin/gpu_engine" --gtest_filter='GpuRanks*.*' > "$out/ranks_tests.log" 2>&1 || { failed=1; tail -40 "$out/ranks_tests.log"; }

counts="1"
for count in 2 4; do [ "$devices" -ge $count ] && counts="$counts $count"; done
sizes="4e6"
[ $full = 1 ] && sizes="6.4e7 2.6e8"
for size in $sizes; do
    for count in $counts; do
        for arrays in host device; do
            "$build/bin/gpu_ranks_times" $count $size 3 1e-3 $arrays >> "$lines" 2> "$out/ranks_times_${count}_${size}_$arrays.log" ||
                { failed=1; cat "$out/ranks_times_${count}_${size}_$arrays.log"; }
        done
    done
done
for count in $counts; do
    "$build/bin/gpu_ranks_times" $count 1e6 6 1e-5 device box >> "$lines" 2> "$out/ranks_times_box_$count.log" ||
        { failed=1; cat "$out/ranks_times_box_$count.log"; }
done

# Ranks of MPI: percentiles beside those of one rank (1, 2 and 4, which may share a GPU), and times of a GPU each.
if command -v mpiexec > /dev/null && [ -x "$build/bin/graft" ] && ls "$build"/lib/libgraft_mpi_*.so > /dev/null 2>&1; then
    errors=()
    for count in 1 2 4; do
        log=$out/ranks_mpi_$count.log
        errors+=("$out/ranks_mpi_$count.json")
        mpiexec -n $count "$build/bin/graft" check --backend gpu --n 2e5 --targets 4000 --repeat 0 --json \
            --sweep seed=1,2,3,4,5 > "${errors[-1]}" 2> "$log" ||
                { failed=1; tail -20 "$log"; }
    done
    python3 "$(dirname "${BASH_SOURCE[0]}")/report.py" percentiles "${errors[@]}" >> "$lines" || failed=1
    for size in $sizes; do
        for count in $counts; do
            [ $count -gt 1 ] || continue
            log=$out/ranks_times_mpi_${count}_$size.log
            mpiexec -n $count "$build/bin/gpu_ranks_times" $count $size 3 1e-3 device >> "$lines" 2> "$log" ||
                { failed=1; cat "$log"; }
        done
    done
fi
cat "$lines"
exit $failed
