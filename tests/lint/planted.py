# SPDX-License-Identifier: BSD-3-Clause
"""Small trees with something wrong in each: what every rule must notice, and what it must let pass.

A case has the rule, its files, `says` (parts of the complaints to be made; all of the files' paths where it is not given),
`silent` (parts that no complaint may have), for rules about rooms the `rooms` of its house, for those about history `commits`.
"""

# A house with rooms in rooms.
NESTED = {
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

HEADERS = {path: "\n" for path in ("impl/core/error.hpp", "impl/tree/tree.hpp", "impl/lists/walk.hpp", "impl/forces/p2p/p2p.hpp",
                                   "impl/engine/solver.hpp", "capi/include/graft/types.h", "capi/internal/entries.hpp",
                                   "capi/src/structs.hpp", "plugin/deck/deck.hpp")}
COMING = {"core": "impl/core/error.hpp", "lists": "impl/lists/walk.hpp", "p2p": "impl/forces/p2p/p2p.hpp",
          "m2p": "impl/forces/m2p/m2p.hpp", "near": "impl/near/near.hpp", "engine": "impl/engine/solver.hpp",
          "tree": "impl/tree/tree.hpp", "orb": "impl/decompose/orb.hpp"}
LAYERS = {
    "impl/tree/a.cpp": '#include "forces/p2p/p2p.hpp"\n', "impl/reference/b.cpp": '#include "tree/tree.hpp"\n',
    "impl/attic/c.cpp": "\n", "plugin/d.cpp": '#include "engine/solver.hpp"\n',
    "adapters/cli/e.cpp": '#include "core/error.hpp"\n', "capi/src/f.cpp": '#include "tree/tree.hpp"\n',
    "capi/include/graft/g.h": '#include "types.h"\n', "plugin/h.cpp": '#include "structs.hpp"\n',
    "plugin/deck/i.hpp": "#include <core/error.hpp>\n", "adapters/cli/j.hpp": '#include "../../plugin/deck/deck.hpp"\n',
    "plugin/loader/k.c": '#include "entries.hpp"\n', "impl/tree/l.cuh": ' #  include "../lists/walk.hpp"\n',
    "impl/m.cpp": "\n"}
STEMS = {f"impl/tree/s{i}.cpp": "\n" for i in range(26)} | {f"impl/lists/t{i}{end}": "\n" for i in range(25)
                                                          for end in (".cpp", ".hpp", "_gpu.cu")}

MANY = ", ".join(f"a{i}" for i in range(13)) # data members
TEN = "one two three four five six seven eight nine ten "

CASES = (
    {"rule": "layering", "files": HEADERS | LAYERS, "says": list(LAYERS), "silent": [f"{path}:" for path in HEADERS]},
    {"rule": "layering", "files": HEADERS | {
        "plugin/a.cpp": '#include "entries.hpp"\n#include <graft/types.h>\n#include "deck/deck.hpp"\n#include <vector>\n',
        "capi/src/b.cpp": '#include "structs.hpp"\n#include "entries.hpp"\n#include "engine/solver.hpp"\n',
        "capi/include/graft/c.h": "#include <graft/types.h>\n#include <stdint.h>\n",
        "impl/near/d.cpp": '#include "forces/p2p/p2p.hpp"\n#include "lists/walk.hpp"\n#include "hwy/highway.h"\n'},
     "says": [], "silent": [":"]},
    {"rule": "layering", "rooms": NESTED, "files": {path: "\n" for path in COMING.values()} | {
        "impl/forces/p2p/gpu/a.cu": '#include "forces/m2p/m2p.hpp"\n', "impl/forces/b.cpp": "\n",
        "impl/lists/c.cpp": '#include "forces/p2p/p2p.hpp"\n', "impl/tree/d.cpp": '#include "decompose/orb.hpp"\n',
        "impl/engine/e.cpp": '#include "near/near.hpp"\n', "impl/near/f.cpp": '#include "engine/solver.hpp"\n',
        "impl/forces/p2p/gpu/good.cu": '#include "forces/p2p/p2p.hpp"\n#include "lists/walk.hpp"\n',
        "impl/forces/m2p/good.cpp": '#include "forces/p2p/p2p.hpp"\n',
        "impl/study/papers/good.cpp": '#include "engine/solver.hpp"\n#include "near/near.hpp"\n'},
     "says": ["impl/forces/p2p/gpu/a.cu", "impl/forces/b.cpp", "impl/lists/c.cpp", "impl/tree/d.cpp", "impl/engine/e.cpp",
              "impl/near/f.cpp"],
     "silent": ["good"]},
    {"rule": "cycles", "files": {
        "impl/core/a.hpp": '#include "core/b.hpp"\n', "impl/core/b.hpp": '#include "a.hpp"\n',
        "tests/unit/c.hpp": '#include "c.hpp"\n', "impl/core/good.hpp": '#include "a.hpp"\n',
        "adapters/x/d.c": "int one(void) {\n    return two();\n}\n",
        "adapters/x/e.c": "int* two(int a,\n         int b) {\n    return one();\n}\n",
        "adapters/x/good.c": "static int one(void) {\n    return two(); /* main */\n}\nint main(void) {\n    return one();\n}\n"},
     "says": ["impl/core/a.hpp, impl/core/b.hpp:", "tests/unit/c.hpp:", "adapters/x/d.c, adapters/x/e.c:"], "silent": ["good"]},
    {"rule": "names", "files": STEMS | {
        "tests/lint/words.txt": "wire: periodic # a comment\npair: forces\nlean:\n",
        "docs/developer/words.md": "**pair**: two\n",
        "tests/lint/gpu_alone.txt": "tree/sort_gpu: CUB sorts\ntree/s0_gpu: no reason to be here\nlists/t1_gpu: has one\n"
                                    "near/queue_gpu:\nmoments/: all alone\ngeometry/: nothing here\n",
        "tests/lint/names_known.txt": "impl/engine/lean: known\nimpl/engine/gone: not any more\n", "impl/engine/lean.cpp": "\n",
        "impl/moments/order_gpu.cu": "\n", "impl/forces/m2p/m2p.cpp": "\n", "impl/forces/m2p/m2p_fast_gpu.cu": "\n",
        "impl/forces/m2p/m2pfast_gpu.cu": "\n", "impl/forces/frame.hpp": "\n", "impl/forces/m2p/frame_rows_gpu.cu": "\n",
        "impl/near/fast_structure_gpu.cu": "\n", "impl/near/structure.cpp": "\n", "impl/near/instances/lean.cpp": "\n",
        "impl/engine/device_wire.cpp": "\n", "impl/study/papers/lean.cpp": "\n", "impl/balance/points.cpp": "\n",
        "impl/decompose/points.hpp": "\n", "impl/near/queue_gpu.cu": "\n", "impl/near/window.cu": "\n",
        "impl/forces/m2l/gpu/m2l_tiles_gpu.cu": "\n",
        "impl/periodic/wire.cpp": "\n", "impl/forces/direct/pair.cpp": "\n", "impl/tree/sort_gpu.cuh": "\n"},
     "says": ["impl/engine/device_wire: 'wire' is a word of periodic", "impl/study/papers/lean: 'lean'", "impl/tree: 27 stems",
              "impl/decompose/points: impl/balance has a points", "impl/near/queue_gpu: no twin", "impl/near/window.cu",
              "impl/forces/m2l/gpu: 1 stems", "impl/lists/t1_gpu: has a twin", "gpu_alone.txt: tree/s0_gpu: there is no such",
              "m2p/m2pfast_gpu: no twin", "near/fast_structure_gpu: no twin", "geometry/: there is no such",
              "names_known.txt: impl/engine/gone", "words.md: 'wire'"],
     "silent": ["impl/lists:", "wire.cpp", "impl/periodic/", "impl/forces/direct/", "sort_gpu: no twin", "m2p_fast", "frame_rows",
                "impl/moments", "instances/lean:", "impl/engine/lean", "words.md: 'pair'", "GPU stems have"]},
    {"rule": "names", "files": {f"impl/tree/a{i}_gpu.cu": "\n" for i in range(5)} | {
        "impl/tree/a0.cpp": "\n", "impl/tree/a1.cpp": "\n", "tests/lint/gpu_alone.txt": "tree/: none\n"},
     "says": ["2 of 5 GPU stems have a twin"]},
    {"rule": "names", "files": {
        "tests/lint/words.txt": "wire: periodic\nunits: near\nlean:\ntask: forces\ndevice: core\nwave: periodic\n",
        "docs/developer/words.md": "**wire**, **units**, **task**, **device**, **wave**\n",
        "tests/lint/types_allowed.txt": "engine/WireKept: a reason\nengine/WireGone: not any more\n",
        "impl/engine/a.hpp": "struct WireNode { int n; };\nclass LeanTree final : public Base {\n};\nenum class Units : int { a };\n"
                             "using TaskUnit = int;\nstruct alignas(16) Waves { int n; };\nstruct WireKept {};\n"
                             "struct WireLater;\nusing std::Wire;\nstruct Good {\n    struct WireInner {};\n};\nstruct DeviceTask {};\n"
                             "struct Wireless { int a; };\n",
        "impl/periodic/b.hpp": "struct WireImages {\n};\n", "adapters/c.hpp": "struct Units {\n};\nstruct Lean {\n};\n"},
     "says": ["type WireNode: 'wire' is a word of periodic", "type LeanTree: 'lean' is a word of no room", "type Units: 'units'",
              "type TaskUnit: 'unit'", "type Waves: 'waves'", "adapters/c.hpp: type Lean", "types_allowed.txt: engine/WireGone"],
     "silent": ["type WireKept", "WireLater", "type Wire:", "WireInner", "DeviceTask", "Wireless", "WireImages", "adapters/c.hpp: type Units"]},
    {"rule": "members", "files": {
        "impl/engine/a.hpp": f"class Much : public Base {{\n  public:\n    Much() : a_{{1}}, b_(2) {{ int x; }}\n    int {MANY};\n"
                             f"    std::map<int, int> {MANY.replace('a', 'b')};\n}};\n",
        "impl/tree/b.cuh": f"template <class T>\nstruct alignas(2 * sizeof(T)) Table {{\n    int32_t (*call)(void* a, int b);\n    T {MANY};\n"
                           f"    struct Times {{\n        int {MANY};\n    }} time;\n    double x[3] = {{0, 0, 0}}, {MANY.replace('a', 'c')};\n}};\n",
        "adapters/c.h": f"typedef struct many {{\n    int {MANY};\n    double {MANY.replace('a', 'b')};\n}} many;\n",
        "capi/include/graft/good.h": f"typedef struct good {{ int {MANY}, {MANY.replace('a', 'b')}; }} good;\n",
        "capi/src/good.hpp": f"struct Good {{\n    static constexpr int {MANY} = 1;\n    using A = int;\n    friend void f(int a, int b);\n"
                             f"    virtual int g(int {MANY.replace(', ', ', int ')}) const = 0;\n    int h() const {{ int {MANY}; return 1; }}\n"
                             f"    bool operator<(const Good& other) const {{ return {{}}; }}\n    template <class T> T k(T a, T b);\n"
                             f"    struct Inner {{\n        int {MANY.replace('a', 'b')};\n    }};\n    int {MANY};\n"
                             "    std::function<int(int, int)> call = [](int a, int b) { return a + b; };\n};\n"},
     "says": ["impl/engine/a.hpp:1: Much has 26", "impl/tree/b.cuh:2: Table has 29", "adapters/c.h:1: many has 26"], "silent": ["good", "Good"]},
    {"rule": "sizes", "files": {"impl/core/long.cpp": "\n" * 501, "impl/core/wide.hpp": "/" * 131 + "\n", "tests/wide.py": "#" * 151,
                                "impl/core/good.hpp": "/" * 130 + "\n", "tests/good.py": "#" * 150},
     "says": ["long.cpp", "wide.hpp:1", "wide.py:1"], "silent": ["good"]},
    {"rule": "quiet", "files": {
        "impl/core/a.cpp": "void f() { std::cout << 1; }\n", "capi/src/b.cpp": "void f() { abort(); }\n",
        "plugin/c.cpp": "void f() {\n    std::exit(1);\n}\n", "impl/core/d.cpp": "int a = MPI_COMM_WORLD;\n",
        "impl/backend/e.cpp": "void f() { omp_set_num_threads(2); }\n"}},
    {"rule": "device", "files": {
        "impl/tree/a.cu": "void f() {\n    cudaFree(p);\n}\n", "impl/tree/b.cu": "void f() {\n    k<<<1, 1>>>();\n}\n",
        "impl/lists/c.cu": "void f() {\n    GRAFT_CUDA(cudaStreamSynchronize(s));\n}\n",
        "impl/lists/d.cuh": "void f() {\n    GRAFT_CUDA(cudaMemcpy(a, b, n, cudaMemcpyDefault));\n}\n"}},
    {"rule": "targets", "files": {
        "impl/forces/a.hpp": "#if HWY_TARGET == HWY_AVX3\n", "tests/unit/b.cpp": "bool b = HWY_TARGET != HWY_AVX2;\n"}},
    {"rule": "links", "files": {
        "docs/developer/map.md": "`tree/gone.cpp` `gone_too.md` `tree/there` `impl/tree/there.cpp` `study.*` `forces/NAME/x`\n",
        "impl/tree/there.cpp": "\n"},
     "says": ["there is no tree/gone.cpp", "there is no gone_too.md"], "silent": ["no tree/there", "no impl/", "NAME", "study"]},
    {"rule": "links", "files": {
        "docs/a.md": "[there](b.md)\n", "README.md": "[there](impl/nowhere.md#part)\n",
        "docs/lab/gpu/new.md": "nothing\n"}},
    {"rule": "plain", "files": {
        "README.md": f"# Head\n\nShort. It is\nlong: {TEN * 3}end.\n",
        "docs/user/item.md": f"A list:\n\n- {TEN * 3}\n- {TEN * 3}\n  more\n",
        "docs/user/guide/quote.md": f"> Short.\n> {TEN * 3} one `code of five words` [shown](a.md) - 3e-6\n",
        "docs/user/guide/short.md": "".join(f"{TEN * 2}{form} {TEN * 2}\n\n" for form in ("e.g.", "vs.", "A.")),
        "docs/user/after.md": f"```\n{TEN * 4}\n```\n<!-- {TEN * 4}\nthree\n-->\n## {TEN * 4}\n| a |\n|---|\n\n{TEN * 3}more\n",
        "docs/developer/good.md": TEN * 4, "docs/user/good.txt": TEN * 4,
        "docs/user/good.md": f"{TEN * 3}\n\n> {TEN * 3}\n\n1. {TEN * 3}\n2. `{TEN * 4}`: {TEN * 2}\n3. {TEN * 3}\n```yaml\n{TEN * 4}\n# a\n```\n\n"
                             f"~~~\n```\n{TEN * 4}\n~~~\n> | {TEN * 4} |\n> |---|\n\n# {TEN * 4}\n\n{TEN * 4}\n====\n\n{TEN * 3}\n```\n```\n"
                             f"| {TEN * 4} |\n|---|\n\n<!-- {TEN * 2}\n{TEN * 2}-->\n\n{TEN * 2}order 3. {TEN * 2}[b](<{TEN * 3}>) 2. "
                             f"{TEN * 2}three! {TEN * 2}four? {TEN * 2}`a b`. {TEN * 2}(five.) {TEN * 2}**six.** {TEN * 2}\n"},
     "says": ["README.md:3: a sentence of 34 words", "item.md:4: a sentence of 31", "quote.md:2: a sentence of 34", "short.md:1: a sentence of 41",
              "short.md:3: a sentence of 41", "short.md:5: a sentence of 41", "after.md:11: a sentence of 31"],
     "silent": ["good"]},
    {"rule": "licence", "files": {
        "impl/tree/a.cpp": "// What it is.\n", "tests/b.sh": "#!/bin/sh\n\n# SPDX-License-Identifier: BSD-3-Clause\n",
        "adapters/c.c": "/* SPDX-License-Identifier: GPL-3.0-or-later */\n", "tests/d.py": "#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\n",
        "tests/abi/frozen/e.c": "int f(void);\n", "capi/f.h": ""}, "says": ["impl/tree/a.cpp", "tests/b.sh"],
     "silent": ["adapters/c.c", "tests/d.py", "e.c", "f.h"]},
    {"rule": "refusals", "files": {
        "impl/settings/keys.inc": 'ENGINE_KEY(int, leaf, 0, "tree.leaf")\nKEY("box.x")\n',
        "impl/tree/a.cpp": 'void f() {\n    core::fail(core::Status::argument,\n        "n is %d; "\n        "expected 2", n);\n}\n',
        "impl/tree/b.cu": 'void f() {\n    fail(Status::value, "n is %d; expected 2", n);\n}\n',
        "impl/tree/c.cpp": 'void f() {\n    fail(Status::value, "tree.leaves: %d", n);\n}\n',
        "impl/tree/good.cpp": 'void f() {\n    fail(Status::value, "tree.leaf: box.tilt is %d; expected 2", n);\n'
                              '    fail(Status::value, "%s", a);\n    fail(Status::value, "%s", b);\n}\n'},
     "says": ['impl/tree/b.cu:2: "n is %d; expected 2" is refused at impl/tree/a.cpp:2', "c.cpp:2: there is no key tree.leaves"],
     "silent": ["good"]},
    {"rule": "types", "files": {
        "tests/gpu/near/a_test.cu": '#include "a.hpp"\n', "tests/gpu/near/b_test.cpp": '#include "deep.hpp"\n',
        "tests/gpu/near/a.hpp": "namespace a::b {\nstruct Scene { int n; };\nstruct Own { struct Inner {}; };\n}\n",
        "tests/support/deep.hpp": '#include "b.hpp"\nnamespace { struct Own {}; }\n',
        "tests/support/b.hpp": "namespace a {\nnamespace b { class Scene final : Base { }; struct Own; }\nstruct Inner {}; }\n"},
     "says": ["tests/gpu/near: two types are called a::b::Scene, in tests/gpu/near/a.hpp and tests/support/b.hpp"],
     "silent": ["Own", "Inner"]},
    {"rule": "subjects", "files": {}, "commits": ("One", "Another " * 10), "says": ["subject of 79 characters"]},
    {"rule": "subjects", "files": {}, "commits": ("Another " * 10, "One"), "says": [], "silent": ["subject"]},
    {"rule": "subjects", "files": {}, "says": [], "silent": ["subject"]},
    {"rule": "headers", "files": {
        "capi/include/graft/a.h": "int64_t f(void);\n",
        "capi/include/graft/b.h": "// C99 has these\ninline int f() {}\n"}},
)

# The include directories that the targets of a case's house have, by folder.
DIRECTORIES = {
    "impl": ("impl", "capi/include"), "capi/include": ("capi/include",),
    "capi/src": ("capi/src", "capi/internal", "capi/include", "impl"),
    "plugin": ("plugin", "capi/internal", "capi/src", "capi/include", "impl"),
    "plugin/loader": ("plugin/loader", "capi/internal", "capi/include"), "adapters/cli": ("adapters/cli", "capi/include", "impl"),
    "tests": ("tests/support", "impl"),
}
