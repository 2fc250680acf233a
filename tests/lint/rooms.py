# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of impl/ (folders below it, by path) and what each may include, as design section 4 draws them.

A room may include itself; a word that names a folder of rooms ("forces") stands for all of them. The sub-folders of a room
that are no rooms themselves (gpu/) belong to it.
"""

ROOMS = {
    "core": "",
    "backend": "core",
    "comm": "core backend",
    "geometry": "core backend comm",
    "particles": "core backend comm geometry",
    "decompose": "core backend comm geometry particles settings", # settings/keys.inc: its options
    "balance": "core backend comm geometry particles decompose model settings",
    "tree": "core backend comm geometry particles",
    "settings": "core tree",
    "moments": "core backend comm geometry particles tree",
    "lists": "core backend comm geometry particles tree settings moments",
    "forces": "core backend comm geometry particles tree settings moments lists model",
    "essential": "core backend comm geometry particles tree settings moments lists forces",
    "periodic": "core backend comm geometry particles tree settings moments lists forces essential",
    "near": "core backend comm geometry particles tree settings moments lists forces model",
    "engine": "core backend comm geometry particles decompose balance tree settings moments lists forces essential periodic near model "
              "reference",
    "study": "core backend comm geometry particles decompose balance tree settings moments lists forces essential periodic near engine "
             "model reference",
    "model": "core geometry",
    "reference": "core geometry",
}
# What still looks the wrong way, and why; a line goes when its cause does.
KNOWN = {}

# Outside impl/ whole folders count as rooms, by their path in the repository. capi calls the pipeline, decompose, balance and
# the near field (kernels); it also speaks of errors and memory (core), threads (backend), ranks (comm), boxes (geometry) and
# views of host arrays (particles). The loader is made to be copied: it sees nothing but the public headers.
OUTSIDE = {
    "capi/include": "",
    "capi/internal": "capi/include core balance engine near settings", # all options as values
    "capi/src": "capi/include capi/internal core backend comm geometry particles decompose balance forces near periodic settings engine model",
    "plugin/loader": "capi/include",
    "plugin": "capi/include capi/internal plugin/loader settings", # the list of keys
    "plugin/study": "capi/include capi/internal capi/src plugin settings study",
    "adapters": "capi/include plugin/loader plugin/study",
}
