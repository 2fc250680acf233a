"""The rooms of impl/ (folders below it, by path) and what each may include, as design section 4 draws them.

A room may include itself; a word that names a folder of rooms ("forces") stands for all of them. The sub-folders of a room
that are no rooms themselves (gpu/) belong to it.
"""

# The house as it stands.
ROOMS = {
    "core": "",
    "backend": "core",
    "comm": "core backend",
    "geometry": "core backend comm",
    "particles": "core backend comm geometry",
    "decompose": "core backend comm geometry particles",
    "balance": "core backend comm geometry particles decompose model",
    "tree": "core backend comm geometry particles decompose balance",
    "moments": "core backend comm geometry particles decompose balance tree",
    "lists": "core backend comm geometry particles decompose balance tree moments",
    "kernels": "core backend comm geometry particles decompose balance tree moments lists model",
    "pipeline": "core backend comm geometry particles decompose balance tree moments lists kernels model reference",
    "model": "core geometry",
    "reference": "core geometry",
}

# The house to come: put it in the place of ROOMS with the commit that moves the files.
COMING_ROOMS = {
    "core": "",
    "backend": "core",
    "comm": "core backend",
    "geometry": "core backend comm",
    "particles": "core backend comm geometry",
    "decompose": "core backend comm geometry particles",
    "balance": "core backend comm geometry particles decompose model",
    "tree": "core backend comm geometry particles",
    "moments": "core backend comm geometry particles tree",
    "lists": "core backend comm geometry particles tree moments",
    "forces/p2p": "core backend comm geometry particles tree moments lists",
    "forces/m2p": "core backend comm geometry particles tree moments lists forces",
    "forces/m2l": "core backend comm geometry particles tree moments lists forces",
    "forces/direct": "core backend comm geometry particles tree moments lists forces",
    "periodic": "core backend comm geometry particles tree moments lists forces",
    "essential": "core backend comm geometry particles decompose balance tree moments lists forces periodic",
    "near": "core backend comm geometry particles decompose balance tree moments lists forces periodic essential model",
    "engine": "core backend comm geometry particles decompose balance tree moments lists forces periodic essential model",
    "study": "core backend comm geometry particles decompose balance tree moments lists forces periodic essential near engine "
             "model reference",
    "model": "core geometry",
    "reference": "core geometry",
}

# Outside impl/ whole folders count as rooms, by their path in the repository. capi calls the pipeline, decompose, balance and
# the near field (kernels); it also speaks of errors and memory (core), threads (backend), ranks (comm), boxes (geometry) and
# views of host arrays (particles). The loader is made to be copied: it sees nothing but the public headers.
OUTSIDE = {
    "capi/include": "",
    "capi/internal": "capi/include core",
    "capi/src": "capi/include capi/internal core backend comm geometry particles decompose balance kernels pipeline",
    "plugin/loader": "capi/include",
    "plugin": "capi/include capi/internal plugin/loader",
    "adapters": "capi/include plugin/loader",
}
