# SPDX-License-Identifier: BSD-3-Clause
"""Log-log line charts, and maps of named cells, as SVG, with nothing but the standard library."""
import math

COLOURS = ["#1b6ca8", "#d1495b", "#2e8b57", "#e0a030", "#7b5ea7", "#555555", "#00a0b0", "#a05a2c", "#b0408f"]


def ticks(low, high):
    """Powers of ten, or of two where there are few of those."""
    powers = [10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    return [p for p in powers if low * 0.999 <= p <= high * 1.001]


def power_ticks(low, high):
    exponent = math.floor(math.log2(low))
    step = max(1, round((math.log2(high) - exponent) / 8))
    return [2.0 ** e for e in range(exponent, math.ceil(math.log2(high)) + 1, step) if low * 0.99 <= 2.0 ** e <= high * 1.01]


def label(value):
    if 1 <= value < 1e7 and value == int(value):
        return "%d" % value
    exponent = math.log10(value)
    return "1e%d" % round(exponent) if abs(exponent - round(exponent)) < 1e-9 else "%.3g" % value


def chart(path, title, x_name, y_name, series, width=640, height=440):
    """series: [(name, [(x, y)], style)], style "line", "points" (in the colour of the series after it), "dots", "both" or "dashed"."""
    left, right, top, bottom = 70, 190, 40, 50
    points = [p for _, data, _ in series for p in data if p[0] > 0 and p[1] > 0]
    x_low, x_high = min(p[0] for p in points), max(p[0] for p in points)
    y_low, y_high = min(p[1] for p in points) / 1.3, max(p[1] for p in points) * 1.3

    def x_of(x):
        return left + (width - left - right) * math.log(x / x_low) / math.log(x_high / x_low)

    def y_of(y):
        return height - bottom - (height - top - bottom) * math.log(y / y_low) / math.log(y_high / y_low)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">'
           % (width, height), '<rect width="100%" height="100%" fill="white"/>',
           '<text x="%d" y="22" font-size="14">%s</text>' % (left, title)]
    for x in power_ticks(x_low, x_high):
        out.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/>' % (x_of(x), top, x_of(x), height - bottom))
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%s</text>' % (x_of(x), height - bottom + 16, label(x)))
    for y in ticks(y_low, y_high):
        out.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>' % (left, y_of(y), width - right, y_of(y)))
        out.append('<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (left - 6, y_of(y) + 4, label(y)))
    out.append('<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="black"/>'
               % (left, top, width - left - right, height - top - bottom))
    out.append('<text x="%d" y="%d" text-anchor="middle">%s</text>' % ((left + width - right) // 2, height - 12, x_name))
    out.append('<text x="18" y="%d" text-anchor="middle" transform="rotate(-90 18 %d)">%s</text>'
               % ((top + height - bottom) // 2, (top + height - bottom) // 2, y_name))
    for i, (name, data, style) in enumerate(series):
        colour = COLOURS[i // 2 % len(COLOURS)] if any(s[2] == "points" for s in series) else COLOURS[i % len(COLOURS)]
        data = [(x_of(x), y_of(y)) for x, y in data if x > 0 and y > 0]
        if style not in ("points", "dots"):
            dash = ' stroke-dasharray="5 4"' if style == "dashed" else ""
            out.append('<polyline fill="none" stroke="%s" stroke-width="1.8"%s points="%s"/>'
                       % (colour, dash, " ".join("%.1f,%.1f" % p for p in data)))
        if style in ("points", "dots", "both"):
            out += ['<circle cx="%.1f" cy="%.1f" r="3.2" fill="%s"/>' % (x, y, colour) for x, y in data]
        y = top + 14 + 18 * i
        out.append('<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="2"%s/>'
                   % (width - right + 10, y - 4, width - right + 30, y - 4, colour,
                      ' stroke-dasharray="5 4"' if style == "dashed" else ""))
        out.append('<text x="%d" y="%d">%s</text>' % (width - right + 35, y, name))
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


def cell_maps(path, title, x_name, y_name, panels, names, width=64, height=34):
    """panels: [(title, [(x, y, name, text)])] beside each other on the same axes, a cell for each x and y that occurs; a cell has the
    colour of its name, one of `names`, and the text."""
    xs = sorted({cell[0] for _, cells in panels for cell in cells})
    ys = sorted({cell[1] for _, cells in panels for cell in cells}, reverse=True)
    left, top, gap = 70, 66, 24
    panel = width * len(xs)
    bottom = top + height * len(ys)
    whole = left + (panel + gap) * len(panels)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">'
           % (whole, bottom + 78), '<rect width="100%" height="100%" fill="white"/>',
           '<text x="%d" y="22" font-size="14">%s</text>' % (left, title)]
    for k, (name, cells) in enumerate(panels):
        begin = left + (panel + gap) * k
        out.append('<text x="%d" y="%d">%s</text>' % (begin, top - 8, name))
        for x, y, kind, text in cells:
            at = (begin + width * xs.index(x), top + height * ys.index(y))
            out.append('<rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="white"/>'
                       % (*at, width, height, COLOURS[names.index(kind) % len(COLOURS)]))
            out.append('<text x="%d" y="%d" fill="white" text-anchor="middle">%s</text>'
                       % (at[0] + width / 2, at[1] + height / 2 + 4, text))
        out += ['<text x="%d" y="%d" text-anchor="middle">%s</text>' % (begin + width * (i + 0.5), bottom + 16, label(x))
                for i, x in enumerate(xs)]
        out.append('<text x="%d" y="%d" text-anchor="middle">%s</text>' % (begin + panel / 2, bottom + 34, x_name))
    out += ['<text x="%d" y="%d" text-anchor="end">%s</text>' % (left - 6, top + height * (i + 0.5) + 4, label(y))
            for i, y in enumerate(ys)]
    out.append('<text x="18" y="%d" text-anchor="middle" transform="rotate(-90 18 %d)">%s</text>'
               % ((top + bottom) / 2, (top + bottom) / 2, y_name))
    at = left
    for name in [n for n in names if any(cell[2] == n for _, cells in panels for cell in cells)]:
        out.append('<rect x="%d" y="%d" width="12" height="12" fill="%s"/>' % (at, bottom + 50, COLOURS[names.index(name) % len(COLOURS)]))
        out.append('<text x="%d" y="%d">%s</text>' % (at + 18, bottom + 60, name))
        at += 40 + 7 * len(name)
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
