"""Log-log line charts as SVG, with nothing but the standard library."""
import math

COLOURS = ["#1b6ca8", "#d1495b", "#2e8b57", "#e0a030", "#7b5ea7", "#555555", "#00a0b0", "#a05a2c"]


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
