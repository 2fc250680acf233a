# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the soak campaign by the dice: what is called, with which deck, and what goes wrong."""
SHAPES = ("uniform plummer shell cusp decades wide_decades line diagonal plane point two_points clumps lattice binaries offset "
          "stray strays ring heap pancake disc").split()
MASSES = "equal random signs decades heavy zeros".split()
FAMILIES = ("mpich", "openmpi")
MOST_SUMMED = 1000  # the oracle of sums is all pairs
DEADLINE_S = "1"  # a stalled rank stands still for longer (faults.hpp)


def log_uniform(dice, low, high):
    return 10.0 ** dice.uniform(low, high)


def deck_of(dice, length):
    """Keys and values; only combinations that a user may ask for."""
    deck = {"method": dice.choices(["tree", "direct", "reference"], [8, 3, 1])[0],
            "precision": dice.choice(["fp32", "mixed", "mixed", "fp64"]),
            "threads": dice.choice(["1", "2", "3"]),
            "order": str(dice.choice([0, 1, 2, 2, 3, 4])),
            "tree.type": dice.choice(["octree", "octree", "orb"]),
            "mac.type": dice.choice(["edge", "box", "error", "error"]),
            "mac.theta": "%.3f" % dice.uniform(0.2, 0.8)}
    if dice.random() < 0.5:
        deck["mac.accuracy"] = "%.3g" % log_uniform(dice, -7, -2)
    if dice.random() < 0.3:
        deck["tree.leaf"] = str(dice.choice([1, 2, 7, 64]))
        deck["tree.group"] = str(dice.choice([1, 8, 65, 256]))
    if dice.random() < 0.2:
        deck["far_cells"] = dice.choice(["on", "off"])
    if dice.random() < 0.15:
        deck["study.walk"] = "transposed"
    if dice.random() < 0.3:
        deck["interaction"] = "coulomb"
    if dice.random() < 0.3:
        deck["constant"] = "%.6g" % log_uniform(dice, -12, 12)
    if dice.random() < 0.45:
        deck["softening.kind"] = dice.choice(["plummer", "spline"])
        deck["softening.length"] = "%.6g" % (length * log_uniform(dice, -12, 12))
    return deck


def add_box(dice, case, deck, length):
    """Periodic boxes: small n, since their oracle is slow."""
    which = dice.choice(["xyz", "xyz", "xy", "yz", "x", "z"])
    deck.update({"box.periodic": which, "constant": "1"})
    for axis in "xyz":
        deck["box." + axis] = "%.17g" % (length * dice.choice([1, 1, 1.5]))
    case["n"] = dice.choice([1, 2, 17, 60, 120])
    case["shape"] = dice.choice(["uniform", "shell", "lattice", "line", "plane", "heap", "point", "two_points", "disc"])
    case["masses"] = dice.choice(["equal", "random", "signs"])
    if "softening.kind" in deck:  # longer ones take sums that are refused
        deck["softening.length"] = "%.6g" % (length * log_uniform(dice, -12, -0.5))
    if which == "xyz" and deck.get("method", "tree") == "tree" and deck.get("softening.kind") != "plummer" and dice.random() < 0.5:
        deck["ewald.method"] = "replicas"
        deck["order"] = str(dice.choice([1, 2, 4, 4, 6, 8, 12]))
    elif deck.get("method", "tree") == "tree" and dice.random() < 0.5:
        deck.update({"ewald.waves": "mesh", "ewald.accuracy": dice.choice(["1e-2", "1e-4", "1e-6"])})
    plain = which == "xyz" and "softening.kind" not in deck
    case["oracle"] = "lattice" if plain else "none"


def enlarge(dice, case, deck):
    """Many particles: without what takes minutes, and without numbers beyond double, whose oracle is all pairs."""
    case.update({"n": 100000, "length": "1", "mass": "1", "type": "f64", "ranks": dice.choice([1, 1, 2])})
    deck.update({"method": "tree", "threads": "2", "mac.theta": "%.3f" % dice.uniform(0.5, 0.8)})
    deck["mac.accuracy"] = "%.3g" % log_uniform(dice, -4, -2)
    for key in ("tree.leaf", "tree.group", "study.walk", "constant"):
        deck.pop(key, None)
    if "softening.kind" in deck:
        deck["softening.length"] = "%.6g" % log_uniform(dice, -6, 0)
    if case["shape"] in ("point", "two_points"):
        case["shape"] = "plummer"


def call_case(dice):
    length, mass = log_uniform(dice, -30, 30), log_uniform(dice, -30, 30)
    if dice.random() < 0.3:
        length = mass = 1.0
    single = dice.random() < 0.3
    if single:  # what such numbers can hold
        length, mass = log_uniform(dice, -12, 8), log_uniform(dice, -8, 8)
    case = {"n": dice.choice([0, 1, 2, 3, 30, 300, 300, 1000, 4000]), "shape": dice.choice(SHAPES), "masses": dice.choice(MASSES),
            "length": "%.6g" % length, "mass": "%.6g" % mass, "seed": dice.randrange(1 << 30),
            "type": "f32" if single else "f64", "layout": dice.choice(["soa", "soa", "aos", "xyzh", "struct"]),
            "targets": dice.choice(["all", "all", "mask", "list", "points"]), "ranks": dice.choice([1, 1, 1, 1, 2, 3, 5])}
    deck = deck_of(dice, length)
    if dice.random() < 0.12:
        add_box(dice, case, deck, length)
    high = dice.choice([5, 6, 7, 8, 10, 12])
    if dice.random() < 0.3 and "box.periodic" not in deck and deck.get("softening.kind") != "plummer":
        deck["order"] = str(high)
    if "box.periodic" not in deck and dice.random() < 0.006:
        enlarge(dice, case, deck)
    if case["n"] == 0 and case["targets"] == "points":
        case["targets"] = "all"
    if case["n"] <= MOST_SUMMED and case["targets"] != "points" and dice.random() < 0.3:
        case["sums"] = 1  # energy, and in an open box the virial
    fault = dice.random()
    case["fault_rank"] = dice.randrange(5)
    if fault < 0.12:
        case["alloc"] = int(log_uniform(dice, 0, 2.3))
    elif fault < 0.20 and case["ranks"] > 1:
        case["fail"] = int(log_uniform(dice, 0, 2))
    elif fault < 0.23 and case["ranks"] > 1:
        case["leave"] = 1
    elif fault < 0.3:
        case["again"] = 1
    elif fault < 0.45:
        case["add"] = 1
    return case, deck


def mpi_case(dice):
    """A call over ranks that are processes: small, with faults that only those have."""
    case, deck = call_case(dice)
    for fault in ("alloc", "fail", "leave", "again", "add"):
        case.pop(fault, None)
    case.update({"mpi": dice.choice(FAMILIES), "ranks": dice.choice([2, 3, 4]), "fault_rank": dice.randrange(4)})
    case["n"] = min(case["n"], dice.choice([0, 3, 30, 300, 1000]))
    if case["n"] == 0 and case["targets"] == "points":
        case["targets"] = "all"
    deck["threads"] = dice.choice(["1", "1", "2"])
    deck["ranks.exchange"] = dice.choice(["push", "push", "fetch"])
    if dice.random() < 0.2:
        deck["tree.scope"] = "global"
    fault = dice.choices(["", "alloc", "fail", "leave", "stall", "kill", "again", "add"], [35, 12, 16, 6, 4, 12, 10, 5])[0]
    if fault == "alloc":
        case[fault] = int(log_uniform(dice, 0, 2.3))
    elif fault in ("fail", "stall", "kill"):
        case[fault] = int(log_uniform(dice, 0, 1.7))
    elif fault:
        case[fault] = 1
    if fault in ("stall", "kill"):
        deck["comm.deadline_s"] = DEADLINE_S
    return case, deck


def move_to(backend, deck):
    """The same case on another backend, as far as it has what the deck asks for."""
    deck["backend"] = backend
    if backend == "gpu":
        deck["order"] = str(min(int(deck["order"]), 4))
        deck.pop("study.walk", None)
        if deck["method"] == "reference":
            deck["method"] = "direct"


def line_of(number, case, deck):
    return " ".join([f"id={number}"] + [f"{k}={v}" for k, v in case.items()] + [f"deck:{k}={v}" for k, v in deck.items()])
