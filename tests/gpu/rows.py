# SPDX-License-Identifier: BSD-3-Clause
"""Rows of the table of tests/gpu/run.sh: our numbers beside targets.md (sections 1 to 3) and beside floors.

A row: what, name (of bench.txt), n, ours, unit, first, goal, floor, share, ok. "better" says which way: less (times)
or more (rates). Floors are bytes over bandwidth, instruction slots over their rate, and launches; rates are those of the
row "pairs" of the same run, else an H200's. Derivations: docs/lab/gpu/engine.md, evaluate.md, lists.md, tree.md, orb.md.
"""

H200 = {"mix_pairs_per_s": 2.297e12, "fma_fp64_per_s": 1.63e13, "read_bytes_per_s": 4.5e12, "copy_bytes_per_s": 4.2e12}
SLOTS_OF_MIX = 13          # 12 multiply-adds and one reciprocal root
PAIR_SLOTS = 12            # scaled form, evaluate.md
ONCE_SLOTS = 9.5           # potential and gradient of a pair that is met once for both its points, near_pairs_once.md
CELL_SLOTS = 30            # order 2, evaluate.md
FAR_SLOTS = 283            # M2L of degree 5 in SASS, local.md
ENTRY_SLOTS = 313          # two passes of the walk for an entry that it finds, lists.md
SORT_KEYS_PER_S = 1.4e10   # CUB, 63 bits and an index, targets.md section 2
P99 = 1e-3

# name, what, Ryoanji at the same p99, first step, goal (milliseconds)
FORCES = (("plummer-1e5", "Plummer 1e5", 2.6, 1.5, 0.5), ("plummer-1e6", "Plummer 1e6", 17.9, 6, 1.8),
          ("plummer-8e6", "Plummer 8e6", 63, 25, 7), ("plummer-6.4e7", "Plummer 6.4e7", 611, 220, 60),
          ("uniform-1e6", "uniform 1e6", 6.0, 3, 0.9), ("uniform-8e6", "uniform 8e6", 47.8, 20, 6),
          ("uniform-2^30", "uniform 2^30", 10000, 4000, 1000), ("local-1e5", "Plummer 1e5, local", 2.6, 1.5, 0.5),
          ("local-1e6", "Plummer 1e6, local", 17.9, 6, 1.8), ("local-8e6", "Plummer 8e6, local", 63, 25, 7),
          ("local-uniform", "uniform 1e6, local", 6.0, 3, 0.9))

# Parts of a whole evaluation: what, its times, its floors. On a GPU the sort is timed as part of the tree.
PARTS = (("import", ("import",), ("import",)), ("tree, sort included", ("sort", "tree"), ("tree",)),
         ("moments", ("moments",), ("moments",)), ("targets, criterion, lists", ("lists",), ("walk",)),
         ("P2P, M2P, M2L", ("forces",), ("p2p", "m2p")), ("output", ("output",), ("output",)))


def row(what, name, n, ours, unit, first=None, goal=None, floor=None, better="less", remark=""):
    """ok: yes (the first step), goal, no, or "" where nothing is asked for."""
    def reaches(target):
        return ours <= target if better == "less" else ours >= target
    ok = "" if first is None else "no" if not reaches(first) else "goal" if goal is not None and reaches(goal) else "yes"
    share = None if not floor or not ours else floor / ours if better == "less" else ours / floor
    return {"what": what, "name": name, "n": n, "ours": ours, "unit": unit, "first": first, "goal": goal, "floor": floor,
            "share": share, "ok": ok, "better": better, "remark": remark}


class Answers:
    """The JSON objects that each measurement answered with, by its name; a full row NAME+ counts as NAME."""

    def __init__(self, benchmarks):
        self.by_name = {one["name"].rstrip("+"): one["answers"] for one in benchmarks}
        pairs = self.first("pairs")
        self.rates = {**H200, **(pairs or {}).get("limits", {})}
        self.assumed = pairs is None

    def first(self, name):
        return (self.by_name.get(name) or [None])[0]

    def all(self, name, **wanted):
        return [one for one in self.by_name.get(name, []) if all(one.get(key) == value for key, value in wanted.items())]

    def slots(self):
        return SLOTS_OF_MIX * self.rates["mix_pairs_per_s"]


def part_floors(rates, slots, n, nodes, leaves, entries, pairs, cells, far=0):
    """Seconds, for order 2 and single precision arrays on the device."""
    copy = rates["copy_bytes_per_s"]
    return {"import": 72 * n / copy, "sort": n / SORT_KEYS_PER_S, "tree": n / SORT_KEYS_PER_S + (200 * n + 198 * leaves) / copy,
            "moments": (32 * n + 180 * nodes) / copy, "walk": entries * (ENTRY_SLOTS / slots + 4 / copy),
            "p2p": pairs * PAIR_SLOTS / slots, "m2p": (cells * CELL_SLOTS + far * FAR_SLOTS) / slots, "output": 40 * n / copy}


def force_rows(answers):
    rows = []
    for name, what, theirs, first, goal in FORCES:
        answer = answers.first(name)
        if answer is None:
            continue
        n, tree, count = answer["n"], answer.get("tree", {}), answer["interactions"]
        far = count.get("m2l", 0) # cells that became part of a polynomial, over all groups
        entries = count["m2p"] * tree.get("groups", n / 50) / n + far
        floors = part_floors(answers.rates, answers.slots(), n, tree.get("nodes", 0), tree.get("leaves", 0), entries,
                             count["p2p"], count["m2p"], far)
        floor = sum(value for part, value in floors.items() if part != "sort")
        p99 = answer.get("error", {}).get("p99")
        one = row(what, name, n, 1e3 * answer["time_s"]["total"], "ms", first, goal, 1e3 * floor,
                  remark=f"Ryoanji {theirs}; p99 {p99 if p99 is not None else 'not asked'}")
        if p99 is not None and p99 > 1.1 * P99: # 1.1: of some hundred targets
            one["ok"], one["remark"] = "no", one["remark"] + ", above 1e-3"
        rows.append(one)
        if not name.startswith("local-"):
            rows += [row(f"{what}: {part}", name, n, 1e3 * sum(answer["time_s"].get(key, 0) for key in keys), "ms",
                         floor=1e3 * sum(floors[key] for key in floor_keys)) for part, keys, floor_keys in PARTS]
    return rows


def split_rows(answers):
    """Each step alone, beside its floor."""
    rows = []
    for name in ("steps-1e5", "steps-1e6", "steps-1e6-128", "steps-1e6-32", "steps-8e6", "steps-6.4e7"):
        s = answers.first(name)
        if s is None:
            continue
        t = s["time_s"]
        floors = part_floors(answers.rates, answers.slots(), s["n"], s["nodes"], s["leaves"],
                             s["node_entries"] + s["leaf_entries"], s["pairs"], s["cells"])
        title = f"{s['ic'].capitalize()} {s['n']:.2g}, {s['leaf']}/{s['group']}".replace("e+0", "e")
        tree_first = None if s["n"] < 1e6 else 1.5e3 * t["sort"]
        for part, key, first in (("sort", "sort", None), ("tree, sort included", "tree", tree_first),
                                 ("moments", "moments", None), ("walk", "walk", None), ("P2P", "p2p", None), ("M2P", "m2p", None)):
            rows.append(row(f"{title}: {part}", name, s["n"], 1e3 * t[key], "ms", first, None, 1e3 * floors[key]))
        rows.append(row(f"{title}: P2P and M2P together", name, s["n"], 1e3 * t["forces"], "ms", None, None,
                        1e3 * (floors["p2p"] + floors["m2p"])))
        rest = t["targets"] + t["criterion"]
        rows.append(row(f"{title}: targets, criterion", name, s["n"], 1e3 * rest, "ms"))
    return rows


def limit_rows(answers):
    """Section 2."""
    rows, pairs = [], answers.first("pairs")
    if pairs is not None:
        for precision, first, goal in (("fp32", 2.05e12, 2.1e12), ("fp64", 7.0e11, 7.2e11)):
            best = pairs["all_pairs"][precision]
            rows.append(row(f"P2P {precision}, all pairs", "pairs", pairs["n"], best["best"]["pairs_per_s"], "pairs/s", first, goal,
                            best["limit_pairs_per_s"], "more"))
    for name, first in (("steps-1e6", 1.7e12), ("steps-1e6-128", 1.7e12), ("steps-1e6-32", 1.7e12)):
        s = answers.first(name)
        if s is not None:
            rows.append(row(f"P2P from lists, {s['leaf']}/{s['group']}, useful", name, s["n"], s["pairs"] / s["time_s"]["p2p"], "pairs/s",
                            first, 1.8e12, answers.slots() / PAIR_SLOTS, "more"))
    rows += near_rows(answers)
    for name, first, goal in (("orb-2^27", None, None), ("orb-2^30", 150, 80)):
        orb = answers.first(name)
        if orb is not None:
            rows.append(row(f"ORB {name[4:]} / {orb['leaves']}", name, orb["n"], 1e3 * orb["time_s"]["total"], "ms", first, goal,
                            1e3 * 212 * orb["n"] / answers.rates["read_bytes_per_s"],
                            remark="verified" if orb.get("verified") else "NOT VERIFIED"))
            if not orb.get("verified"):
                rows[-1]["ok"] = "no"
    rows += level_rows(answers)
    left = answers.first("count-left")
    if left is not None:
        for kernel in ("cell", "level", "warp"):
            best = max(one[f"{kernel}_bytes_per_s"] for one in left["count_left"])
            rows.append(row(f"count-left, {kernel}, of reading", "count-left", left["n"], best, "B/s",
                            0.9 * left["read_bytes_per_s"] if kernel == "warp" else None, None, left["read_bytes_per_s"], "more"))
    return rows


def near_rows(answers):
    """The best layout's kernel, and what an execution with its collection takes beside the better of the paper's two."""
    rows = []
    for name, first, slots in (("near-64", 1.8e12, ONCE_SLOTS), ("near-2", None, SLOTS_OF_MIX + 1)):
        near = answers.first(name)
        if near is None:
            continue
        layouts = {one["layout"]: one["time_s"] for one in near["layouts"] if "time_s" in one}
        best = min(layouts, key=lambda layout: layouts[layout]["kernel"])
        rows.append(row(f"near field, {near['density']:.3g} a box: {best}, useful", name, near["n"],
                        near["pairs"] / layouts[best]["kernel"], "pairs/s", first, None, answers.slots() / slots, "more"))
        his = [layouts[layout]["total"] for layout in ("indexed", "replicated") if layout in layouts]
        if his:
            ours = min(time_s["total"] for layout, time_s in layouts.items() if layout not in ("indexed", "replicated"))
            rows.append(row(f"near field, {near['density']:.3g} a box: better of the paper's two / ours", name, near["n"],
                            min(his) / ours, "x", 1, better="more"))
    return rows


def level_rows(answers):
    """Last level over first: seconds of counting."""
    rows = []
    for name, what in (("orb-level", "one launch a level"), ("orb-warp", "warp primitives")):
        orb = answers.first(name)
        if orb is not None and orb.get("levels"):
            ratio = orb["levels"][-1]["count_s"] / orb["levels"][0]["count_s"]
            rows.append(row(f"ORB, {what}: last level / first", name, orb["n"], ratio, "x", 1.2))
    name = "orb-2^30" if answers.first("orb-2^30") else "orb-2^27"
    ours = answers.first(name)
    if ours is not None: # levels of a round read 4, 8, 12, 12 bytes a point
        last = (len(ours["level_s"]) - 1) % 4
        ratio = ours["level_s"][-1] / ours["level_s"][0]
        rows.append(row("ORB, ours: last level / first", name, ours["n"], ratio, "x"))
        rows.append(row("ORB, ours: last level / first, a byte", name, ours["n"], ratio / (1, 2, 3, 3)[last], "x", 1.2))
    return rows


def paper_rows(answers):
    """Section 3: their figure stands in the remark."""
    rows = []
    orb, warp = answers.first("orb-2^30"), answers.first("orb-warp")
    if orb is not None and warp is not None:
        rows.append(row("rehmann2022: bisection / our cuts", "orb-warp", orb["n"], warp["time_s"]["total"] / orb["time_s"]["total"], "x", 5,
                        better="more"))
    for one in answers.all("rehmann2022", figure="27"):
        if one.get("bisection_over_warp"):
            rows.append(row("rehmann2022: CPU / GPU, bisection", "rehmann2022", one["n"], one["bisection_over_warp"], "x", 5.6,
                            better="more", remark="his 5.6: counting on 12 cores against a P100"))
    for one in answers.all("orb-model"):
        off = 100 * abs(one["model_s"] / one["measured_s"] - 1)
        rows.append(row(f"ORB model, {one['variant']}, {one['leaves']} leaves: off by", "orb-model", one["n"], off, "%", 10))
    for one in answers.all("gaburov2010", n=1e6, theta=0.5):
        rows.append(row("gaburov2010: 1e6, theta 0.5, box MAC", "gaburov2010", 1e6, one["total"], "ms", 1000, remark="his 1,000 ms"))
        rows.append(row("gaburov2010: at 38 and 70 flops", "gaburov2010", 1e6, one["GFLOP/s"], "GFLOP/s", 100, better="more", remark="his 100"))
    rows += device_use_rows(answers)
    merger = answers.first("merger")
    if merger is not None:
        rows.append(row("gaburov2010: merger of two galaxies", "merger", merger["n"], merger["particles/s"], "particles/s", 1.6e6, better="more",
                        remark="his 1.6e6"))
    kernels = {one["kernel"]: one for one in answers.all("liu2022", liu2022="kernels", leaf=32)}
    if "1-D" in kernels and "2-D" in kernels:
        n = (answers.all("liu2022", liu2022="setting") or [{}])[0].get("n")
        rows.append(row("liu2022: 1-D over 2-D kernel, time", "liu2022", n, kernels["1-D"]["time_s"] / kernels["2-D"]["time_s"], "x", 1,
                        better="more", remark="his 2-D is the faster one"))
        rows.append(row("liu2022: 2-D over our kernel, time", "liu2022", n, kernels["2-D"]["time_s"] / kernels["ours"]["time_s"], "x", 1,
                        better="more"))
    for one in answers.all("thuering2023", backend="gpu", bodies=1216869):
        rows.append(row("thuering2023: all pairs, fp64", "thuering2023", 1216869, one["naive"], "ms", 2100,
                        floor=1e3 * 1216869**2 * 16 / answers.rates["fma_fp64_per_s"], remark="his A100 6,830 to 9,560"))
        rows.append(row("thuering2023: Barnes-Hut 0.6, fp64", "thuering2023", 1216869, one["tree_code"], "ms", 12, remark="his A100 355 to 403"))
    return rows


def device_use_rows(answers):
    """gaburov2010's figure 3.8: GFLOP/s of leaf and node lists, GB/s of both passes of each walk. Bytes: 48 a node looked
    at, 1.14 nodes an entry (lists.md), and 4 an entry in the second pass."""
    s, rows = answers.first("steps-theta"), []
    if s is None:
        return rows
    for kind, flops, count, time in (("leaf", 38, s["pairs"], s["time_s"]["p2p"]), ("node", 70, s["cells"], s["time_s"]["m2p"])):
        rows.append(row(f"gaburov2010: {kind} lists, {flops} flops", "steps-theta", s["n"], 1e-9 * flops * count / time, "GFLOP/s", 100,
                        better="more", remark="his about 100"))
    entries = s["node_entries"] + s["leaf_entries"]
    for walk, both in s.get("walk_s", {}).items():
        first = s["count_s"][walk]
        for name, time, entry_bytes in (("first", first, 0), ("second", both - first, 4)):
            if time > 0:
                rows.append(row(f"gaburov2010: {name} walk, a {walk} a group", "steps-theta", s["n"],
                                1e-9 * entries * (1.14 * 48 + entry_bytes) / time, "GB/s", 50, better="more", remark="his above 50"))
    return rows


def all_rows(benchmarks, ranks):
    answers = Answers(benchmarks)
    rows = force_rows(answers) + split_rows(answers) + limit_rows(answers) + paper_rows(answers)
    for one in ranks: # ready made by ranks.sh
        made = row(one["what"], "ranks", one.get("n"), one["ours"], one.get("unit", ""), one.get("first"), one.get("goal"),
                   one.get("floor"), one.get("better", "less"))
        rows.append({**one, **made, "ok": made["ok"] or ("" if "ok" not in one else "yes" if one["ok"] else "no")})
    commands = {one["name"].rstrip("+"): one["command"] for one in benchmarks}
    for one in rows:
        one["command"] = one.get("command") or commands.get(one["name"], "")
    return rows, answers.assumed
