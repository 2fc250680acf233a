#!/bin/sh
# Freezes the first header anew, and the binary of its client. Until 1.0.0 is released: each time the header changes. Afterwards: never.
# usage: record.sh   (needs gcc on x86-64; the binary runs with glibc 2.34 and later)
set -eu
cd "$(dirname "$0")"
mkdir -p graft
cp ../../../capi/include/graft/*.h graft/
gcc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -Werror -I. -fno-ident -ffile-prefix-map="$PWD"=. client.c -o client.x86_64 \
    -Wl,--build-id=none -Wl,-z,noseparate-code -s -ldl
ls -l client.x86_64
