"""Kinds of hard packing instances. A buffer is (lower, upper, size): it is alive from `lower` to before `upper`.

The seed, any text or number, decides everything: the same seed gives the same buffers everywhere. Of cut_rectangle,
pinwheels and crossing the optimum is known: the max load, since they are cut from a layout.
"""

import csv
import random

UNIT = 1024  # of jittered sizes


def read(path):
    with open(path) as file:
        return [(int(r["lower"]), int(r["upper"]), int(r["size"])) for r in csv.DictReader(file)]


def write(path, buffers):
    with open(path, "w") as file:
        file.write("id,lower,upper,size\n")
        for index, (lower, upper, size) in enumerate(buffers):
            file.write(f"{index},{lower},{upper},{size}\n")


def max_load(buffers):
    changes = sorted([(b[0], b[2]) for b in buffers] + [(b[1], -b[2]) for b in buffers])
    load = most = 0
    for _, change in changes:
        load += change
        most = max(most, load)
    return most


def perturbed(buffers, seed, drops=True, jitters=True, reverses=True):
    """One buffer in ten dropped, sizes jittered by up to 5 % in units of 1024, time reversed."""
    rng = random.Random(seed)
    end = max(upper for _, upper, _ in buffers)
    if drops:
        buffers = [b for b in buffers if rng.random() >= 0.1]
    if jitters:
        buffers = [(lower, upper, max(UNIT, round(size * rng.uniform(0.95, 1.05) / UNIT) * UNIT))
                   for lower, upper, size in buffers]
    return [(end - upper, end - lower, size) for lower, upper, size in buffers] if reverses else buffers


def cut(area, pieces, rng):
    """An area (left, bottom, width, height) cut in two again and again, one of the largest pieces first."""
    open_ones = [area]
    while len(open_ones) < pieces:
        index = max(rng.sample(range(len(open_ones)), min(4, len(open_ones))),
                    key=lambda i: open_ones[i][2] * open_ones[i][3])
        x, y, width, height = open_ones.pop(index)
        if (width > height and width > 1) or height <= 1:
            part = rng.randint(max(1, width // 5), max(1, width * 4 // 5))
            open_ones += [(x, y, part, height), (x + part, y, width - part, height)]
        else:
            part = rng.randint(max(1, height // 5), max(1, height * 4 // 5))
            open_ones += [(x, y, width, part), (x, y + part, width, height - part)]
    return open_ones


def cut_rectangle(pieces, seed):
    """A rectangle cut in two again and again: everything fits without a gap."""
    rng = random.Random(seed)
    made = cut((0, 0, 4096, 4096), pieces, rng)
    rng.shuffle(made)
    return [(x, x + width, height) for x, _, width, height in made]


def pinwheels(pieces, seed):
    """Squares side by side in time and in height, each of five pieces around a middle one: no cut goes through."""
    rng = random.Random(seed)
    squares = max(1, pieces // 5)
    rows = max(1, int(squares ** 0.5))
    buffers = []
    for square in range(squares):
        x = square // rows * 100
        a, b = rng.randint(20, 45), rng.randint(20, 45)
        for left, bottom, width, height in [(0, 0, 100 - a, b), (100 - a, 0, a, 100 - b), (a, 100 - b, 100 - a, b),
                                            (0, b, a, 100 - b), (a, b, 100 - 2 * a, 100 - 2 * b)]:
            if width > 0 and height > 0:
                buffers.append((x + left, x + left + width, height))
    rng.shuffle(buffers)
    return buffers


def crossing(count, seed):
    """As in the compilers of accelerators: sections of short buffers, and long buffers that cross several of them.

    Bands of memory are in turn one long buffer for two to eight sections, and cut into pieces for one to three. Then
    one piece in twenty is dropped, but none of the first section, so that the max load stays."""
    rng = random.Random(seed)
    bands, section, height = 12, 64, 4096
    walls = sorted(rng.sample(range(height // 32), bands - 1))
    borders = [0, *(32 * (wall + 1) for wall in walls), height]
    sections = max(4, count // 20)
    free, long_ones = [], []
    for low, high in zip(borders, borders[1:]):
        at = -rng.randrange(8)
        while at < sections:
            for lengths, kept in (((2, 8), long_ones), ((1, 3), free)):
                begin, at = max(0, at), at + rng.randint(*lengths)
                if begin < min(at, sections) and high > low:
                    width = (min(at, sections) - begin) * section
                    kept.append((begin * section, low, width, high - low))
    total = sum(width * high for _, _, width, high in free)
    pieces = []
    for area in free:
        share = max(1, round((count - len(long_ones)) * area[2] * area[3] / total))
        pieces += cut(area, min(share, area[2] * area[3]), rng)
    kept = [p for p in pieces if rng.random() >= 0.05 or p[0] < section]
    buffers = [(x, x + width, high) for x, _, width, high in long_ones + kept]
    rng.shuffle(buffers)
    return buffers


def saturated(count, seed):
    """Lives of up to an eighth of all time, anywhere: about as many buffers are alive at all positions."""
    rng = random.Random(seed)
    buffers = []
    for _ in range(count):
        lower = rng.randrange(count)
        buffers.append((lower, lower + rng.randint(1, max(2, count // 8)), 64 * rng.randint(1, 256)))
    return buffers


def geometric(count, seed):
    """A buffer begins at every position; lives double with half of the probability, up to 4096."""
    rng = random.Random(seed)
    buffers = []
    for lower in range(count):
        longest = 2
        while longest < 4096 and rng.random() < 0.5:
            longest *= 2
        buffers.append((lower, lower + rng.randint(1, longest), 64 * rng.randint(1, 1024)))
    return buffers


def in_a_row(lists, count):
    """Lists one after the other, and again, until there are so many buffers."""
    buffers, begin = [], 0
    while len(buffers) < count:
        for part in lists:
            buffers += [(begin + lower, begin + upper, size) for lower, upper, size in part]
            begin += max(upper for _, upper, _ in part)
    return buffers[:count]


SMALL_COUNTS = (50, 100, 200, 1000, 5000)

MADE = {
    **{f"cut-{n}": (cut_rectangle, n) for n in SMALL_COUNTS},
    **{f"pinwheels-{n}": (pinwheels, n) for n in SMALL_COUNTS},
    **{f"crossing-{n}": (crossing, n) for n in (100, 200, 400, 1000, 5000)},
    **{f"saturated-{n}": (saturated, n) for n in (100, 1000, 5000)},
}
KINDS = {"dropped": (True, False, False), "jittered": (False, True, False), "reversed": (False, False, True),
         "both": (False, True, True)}


def made(name):
    """The instance of that name in MADE."""
    kind, count = MADE[name]
    return kind(count, count)


def copies(name, buffers):
    """Copies of a list: ten with all changes, and one of each kind."""
    yield from ((f"{name}-{i}", perturbed(buffers, f"{name}-{i}")) for i in range(10))
    yield from ((f"{name}-{kind}", perturbed(buffers, f"{name}-{kind}", *changes)) for kind, changes in KINDS.items())
