#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The demo: a galaxy in equilibrium, 100 steps of a Fortran host with Graft's forces, pictures before and after.
#   examples/demo.sh BUILD_FOLDER [PARTICLES] [--ranks P] [--mpi mpich|openmpi]        results in BUILD_FOLDER/galaxy
# On ranks (MPICH where both are there) the same host runs with its MPI module; the energies are those of one rank.
set -euo pipefail
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage="demo.sh BUILD_FOLDER [PARTICLES] [--ranks P] [--mpi mpich|openmpi]"
build="" particles="" ranks="" mpi=""
while [ $# -gt 0 ]; do
    case "$1" in
    --ranks | --mpi)
        [ $# -gt 1 ] || { echo "demo.sh: $1 needs a value" >&2; exit 2; }
        if [ "$1" = --ranks ]; then ranks=$2; else mpi=$2; fi
        shift ;;
    -*) echo "demo.sh: $1 is not understood; usage: $usage" >&2
        exit 2 ;;
    *) if [ -z "$build" ]; then build=$1; else particles=$1; fi ;;
    esac
    shift
done
if [ -z "$build" ] || [ ! -x "$build/bin/graft" ] || [ ! -x "$build/bin/galaxy_demo" ]; then
    [ -z "$build" ] || echo "demo.sh: $build is no build of Graft with its Fortran host (bin/graft, bin/galaxy_demo); ./bootstrap makes one" >&2
    echo "usage: $usage" >&2
    exit 2
fi
build=$(cd "$build" && pwd)
particles=${particles:-100000}
export GRAFT_LIBRARY="${GRAFT_LIBRARY:-$build/lib/libgraft.so.1}"

demo=("$build/bin/galaxy_demo")
if [ -n "$ranks" ]; then
    for flavour in ${mpi:-mpich openmpi}; do
        [ -x "$build/bin/galaxy_demo_$flavour" ] && break
    done
    [ -x "$build/bin/galaxy_demo_$flavour" ] || {
        echo "demo.sh: this build has no galaxy_demo_$flavour; install libmpich-dev and mpich (or Open MPI's) and build again" >&2
        exit 1
    }
    launcher=$(command -v "mpiexec.$flavour" || command -v mpiexec)
    if [ "$flavour" = openmpi ]; then # as root, and with more ranks than cores
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
        export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # Open MPI 5
    fi
    # The ranks share the cores: one thread each unless the caller says otherwise.
    export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
    demo=("$launcher" -n "$ranks" "$build/bin/galaxy_demo_$flavour")
fi
mkdir -p "$build/galaxy"
cd "$build/galaxy"

quietly() { "$@" 2>notes.txt || { cat notes.txt >&2; exit 1; }; }
quietly "$build/bin/graft" ic galaxy --n "$particles" --seed 42 -o galaxy.tipsy
quietly "$build/bin/graft" convert galaxy.tipsy galaxy_before.png
"${demo[@]}" "$source_folder/decks/galaxy.yaml"
quietly "$build/bin/graft" convert galaxy_after.tipsy galaxy_after.png --like galaxy.tipsy
quietly "$build/bin/graft" convert galaxy_after.tipsy galaxy_after.hdf5
rm -f notes.txt
echo "in $PWD: galaxy_before.png, galaxy_after.png, galaxy_after.hdf5 (Gadget layout: yt, pynbody, swiftsimio)"
