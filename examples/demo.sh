#!/usr/bin/env bash
# The demo: a galaxy in equilibrium, 100 steps of a Fortran host with Graft's forces, pictures before and after.
#   examples/demo.sh BUILD_FOLDER [PARTICLES]        results in BUILD_FOLDER/demo
set -euo pipefail
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?usage: demo.sh BUILD_FOLDER [PARTICLES]}" && pwd)
particles=${2:-100000}
export GRAFT_LIBRARY="${GRAFT_LIBRARY:-$build/lib/libgraft.so.0}"
mkdir -p "$build/demo"
cd "$build/demo"

quietly() { "$@" 2>notes.txt || { cat notes.txt >&2; exit 1; }; }
quietly "$build/bin/graft" ic galaxy --n "$particles" --seed 42 -o galaxy.tipsy
quietly "$build/bin/graft" convert galaxy.tipsy galaxy_before.png
"$build/bin/galaxy_demo" "$source_folder/decks/galaxy.yaml"
quietly "$build/bin/graft" convert galaxy_after.tipsy galaxy_after.png --like galaxy.tipsy
quietly "$build/bin/graft" convert galaxy_after.tipsy galaxy_after.hdf5
rm -f notes.txt
echo "in $PWD: galaxy_before.png, galaxy_after.png, galaxy_after.hdf5 (Gadget layout: yt, pynbody, swiftsimio)"
