#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the drawings of docs/. This file is their source. Layers come from the tables in
kmod/core/README.md and docs/architecture.md.

    drawings.py             writes docs/*.svg
    drawings.py --check     fails if one of them differs from what it would write
"""
import os
import re
import sys
from xml.sax.saxutils import escape

PLAIN, MEMBER, SWITCH, LEADER = "#ffffff", "#e8f0fb", "#fbefd9", "#e6f4e6"
INK, GREY, BLUE, ORANGE = "#222222", "#777777", "#1f5fa8", "#b35c00"
LINE = 16           # distance of two lines of text
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}"
     font-family="sans-serif" font-size="13" role="img" aria-label="{title}">
<title>{title}</title>
<!-- Made by tools/drawings.py: change that. -->
<defs>
{heads}
</defs>
<rect width="{w}" height="{h}" fill="#ffffff"/>
"""


class Drawing:
    """A picture of boxes, texts and arrows"""

    def __init__(self, title, width, height):
        heads = "\n".join(
            f'<marker id="head{colour[1:]}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" '
            f'markerHeight="8" orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="{colour}"/></marker>'
            for colour in (INK, GREY, BLUE, ORANGE))
        self.parts = [HEAD.format(w=width, h=height, title=escape(title), heads=heads)]

    def text(self, x, y, words, size=13, colour=INK, anchor="middle", bold=False):
        """One line of text"""
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" '
                          f'text-anchor="{anchor}"{weight}>{escape(words)}</text>\n')

    def box(self, x, y, w, h, lines, fill=PLAIN):
        """A box with lines of text in its middle; the first one is its name"""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="5" fill="{fill}" '
                          f'stroke="{INK}"/>\n')
        top = y + h / 2 - (len(lines) - 1) * LINE / 2 + 5
        for i, line in enumerate(lines):
            self.text(x + w / 2, top + i * LINE, line, 13 if i == 0 else 11.5,
                      INK if i == 0 else "#444444", bold=i == 0 and len(lines) > 1)

    def lane(self, x, y, w, h, name, fill):
        """A large box around others, with its name at the top"""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="{fill}"/>\n')
        self.text(x + w / 2, y + 20, name, 14, bold=True)

    def arrow(self, points, colour=INK, dashed=False):
        """An arrow along several points"""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        path = " ".join(f"{x},{y}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"'
                          f'{dash} marker-end="url(#head{colour[1:]})"/>\n')

    def step(self, x, y, number, colour=INK):
        """The number of a step, in a circle"""
        self.parts.append(f'<circle cx="{x}" cy="{y}" r="9" fill="{colour}"/>\n')
        self.text(x, y + 4, str(number), 11, PLAIN, bold=True)

    def svg(self):
        """Return: the content of the file"""
        return "".join(self.parts) + "</svg>\n"


def overview():
    """Draw hosts, switches, and packets up and down."""
    d = Drawing("Four hosts sum one block: switches add on the way up and copy on the way down", 760, 330)
    hosts = [(60, "host 0", "1 2 3"), (230, "host 1", "4 0 1"), (400, "host 2", "2 2 2"), (570, "host 3", "leads")]
    for x, name, data in hosts:
        d.box(x, 235, 130, 48, [name, data if data == "leads" else f"has {data}"], LEADER if "3" in name else MEMBER)
    d.box(150, 130, 130, 48, ["leaf 1", "adds: 5 2 4"], SWITCH)
    d.box(490, 130, 130, 48, ["leaf 2", "adds: 7 4 6"], SWITCH)
    d.box(320, 30, 130, 48, ["spine", "forwards"], SWITCH)
    for points in ([(115, 235), (185, 180)], [(285, 235), (235, 180)], [(230, 130), (335, 80)],
                   [(430, 80), (535, 130)], [(465, 235), (525, 180)], [(590, 180), (630, 235)]):
        d.arrow(points, BLUE)
    for points in ([(665, 235), (615, 180)], [(575, 130), (452, 60)], [(318, 60), (195, 130)],
                   [(165, 180), (85, 235)], [(265, 180), (325, 235)], [(545, 180), (500, 235)]):
        d.arrow(points, ORANGE, True)
    d.text(30, 40, "contributions: one packet for each block", colour=BLUE, anchor="start")
    d.text(30, 60, "results: the same way back", colour=ORANGE, anchor="start")
    d.text(380, 312, "The leader adds its own data to one packet instead of three. Each block has another "
           "leader.", 12, GREY)
    return d.svg()


def way_of_a_block():
    """Draw the way from send() to recv(), and which file does what."""
    d = Drawing("The way of a block from send() to recv(), and which file does what", 1000, 660)
    d.lane(10, 40, 305, 560, "a member's host", MEMBER)
    d.lane(345, 40, 310, 560, "a switch", SWITCH)
    d.lane(685, 40, 305, 560, "the leader's host", LEADER)
    d.text(500, 24, "contribution: solid blue.   result: dashed orange.", 13, GREY)

    d.box(30, 75, 265, 38, ["application: send(), recv()"])
    d.box(30, 140, 265, 52, ["kmod/operation.c", "copies or pins the vector (memory.c, pin.c)"])
    d.box(30, 222, 265, 66, ["kmod/core/", "op.c cuts the vector into blocks,", "poll.c builds the next packet"])
    d.box(30, 318, 265, 52, ["kmod/comm.c, kmod/send.c", "packets to the UDP port, route.c"])
    d.box(30, 440, 265, 52, ["kmod/receive.c", "input.c checks and dispatches"])
    d.box(30, 520, 265, 66, ["kmod/core/tree_member.c", "takes the result into the vector;", "block.c: the operation is complete"])

    d.box(365, 75, 270, 52, ["bpf/lib/parse.h, ingress.h, admit.h", "what is it, and may its sender?"])
    d.box(365, 152, 270, 66, ["bpf/lib/contribution.h", "descriptor.h finds the block's slot,", "data.h adds, fan_in.h: are all here?"])
    d.box(365, 243, 270, 52, ["bpf/lib/timeout.h, queue.h", "if not: until when it waits"])
    d.box(365, 320, 270, 52, ["bpf/lib/nexthop.h, emit.h", "chooses a port, builds the frame"])
    d.box(365, 410, 270, 38, ["userspace/switchd/clock.c: it is due"])
    d.box(365, 505, 270, 66, ["bpf/lib/replicate.h", "a copy to each child;", "the slot is free again"])

    d.box(705, 75, 265, 38, ["kmod/receive.c"])
    d.box(705, 140, 265, 52, ["kmod/core/input.c, parse.h", "format, epoch, mac, who sent it"])
    d.box(705, 222, 265, 66, ["kmod/core/tree_leader.c", "judges and adds the contribution;", "tree_trust.c judges aggregates"])
    d.box(705, 318, 265, 66, ["kmod/core/tree_leader.c", "complete: compares the tag, adds", "its own data"])
    d.box(705, 414, 265, 52, ["kmod/core/tree_missing.c", "overdue: asks who is missing"])
    d.box(705, 496, 265, 66, ["kmod/core/tree_leader.c", "queues a result for each source;", "poll.c, comm.c, send.c"])

    d.arrow([(162, 113), (162, 140)], BLUE)
    d.arrow([(162, 192), (162, 222)], BLUE)
    d.arrow([(162, 288), (162, 318)], BLUE)
    d.arrow([(295, 344), (330, 344), (330, 101), (365, 101)], BLUE)
    d.arrow([(500, 127), (500, 152)], BLUE)
    d.arrow([(500, 218), (500, 243)], BLUE)
    d.arrow([(635, 185), (650, 185), (650, 335), (635, 335)], BLUE)
    d.arrow([(500, 295), (500, 302), (355, 302), (355, 429), (365, 429)], BLUE)
    d.arrow([(500, 410), (500, 372)], BLUE)
    d.arrow([(635, 358), (672, 358), (672, 94), (705, 94)], BLUE)
    d.arrow([(837, 113), (837, 140)], BLUE)
    d.arrow([(837, 192), (837, 222)], BLUE)
    d.arrow([(837, 288), (837, 318)], BLUE)
    d.arrow([(970, 255), (980, 255), (980, 440), (970, 440)], GREY)
    d.arrow([(705, 360), (692, 360), (692, 520), (705, 520)], ORANGE, True)
    d.arrow([(705, 545), (635, 545)], ORANGE, True)
    d.arrow([(365, 540), (328, 540), (328, 466), (295, 466)], ORANGE, True)
    d.arrow([(162, 492), (162, 520)], ORANGE, True)
    d.arrow([(30, 553), (20, 553), (20, 94), (30, 94)], ORANGE, True)
    for x, y, n, colour in ((30, 140, 1, BLUE), (30, 222, 2, BLUE), (30, 318, 3, BLUE), (365, 75, 4, BLUE),
                            (365, 152, 5, BLUE), (365, 320, 6, BLUE), (705, 140, 7, BLUE), (705, 222, 8, BLUE),
                            (705, 318, 9, BLUE), (705, 496, 10, ORANGE), (365, 505, 11, ORANGE),
                            (30, 440, 12, ORANGE), (30, 520, 13, ORANGE)):
        d.step(x, y, n, colour)
    d.text(500, 628, "The user engine replaces kmod/ by userspace/lib/ (engine_user.c, user_progress.c, "
           "user_socket.c); core and switch stay the same.", 12, GREY)
    d.text(500, 646, "Switches are optional: without one, step 3 leads straight to step 7, and step 10 to "
           "step 12.", 12, GREY)
    return d.svg()


def layer_rows(readme):
    """Return: [(layer, part, [files], what)] from the table of layers"""
    rows = []
    for line in readme.splitlines():
        row = re.match(r"\| (\d+) \| (\w+) \| ([^|]+) \| ([^|]*) \|", line)
        if row:
            rows.append((int(row.group(1)), row.group(2), row.group(3).split(), row.group(4)))
    return rows


def wrapped(words, width):
    """Break words into lines of at most @width characters."""
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def layers(d, rows, y):
    """Draw the rows of a table of layers from @y on, the highest layer at the top. Return: where
    they end"""
    gap, x0, full = 26, 60, 820
    for level, texts, width, tall in shapes_of(rows, full):
        d.arrow([(x0 + full / 2, y), (x0 + full / 2, y + gap)], GREY)
        y += gap
        d.text(34, y + tall / 2 + 5, str(level), 16, GREY, bold=True)
        for i, lines in enumerate(texts):
            d.box(x0 + i * (width + 20), y, width, tall, lines, LEADER)
        y += tall
    return y


def shapes_of(rows, full):
    """Return: [(layer, [lines of each part], width of a part, height)], the highest layer first"""
    shapes = []
    for level in sorted({row[0] for row in rows}, reverse=True):
        parts = [row for row in rows if row[0] == level]
        width = (full - 20 * (len(parts) - 1)) // len(parts)
        texts = [([f"{part}: {what}"] if 8 * len(part + what) < width else [part, what]) +
                 wrapped(files, width // 7) for _, part, files, what in parts]
        shapes.append((level, texts, width, 18 + LINE * max(len(lines) for lines in texts)))
    return shapes


def drawing_of_layers(path, title, top, bottom):
    """Draw a table of layers, with a box above it."""
    with open(path, encoding="utf-8") as readme:
        rows = layer_rows(readme.read())
    height = 130 + sum(shape[3] + 26 for shape in shapes_of(rows, 820))
    d = Drawing(title, 920, height)
    d.box(60, 10, 820, 36, [top], MEMBER)
    y = layers(d, rows, 46)
    d.text(470, y + 28, bottom, 12, GREY)
    return d.svg()


def main():
    """Return: exit status"""
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    drawings = {"overview": overview(), "way-of-a-block": way_of_a_block(),
                "layers": drawing_of_layers(
                    "kmod/core/README.md", "The layers of the protocol core",
                    "drivers: kmod/, userspace/lib/, tools/sim/ include core.h; tests that look inside: inside.h",
                    "Arrows go downwards only. A layer calls those below it; a lower layer returns what it found out."),
                "parts": drawing_of_layers(
                    "docs/architecture.md", "The parts of the tree and their layers",
                    "applications: a socket of AF_CANARY, libcanary, the command canary",
                    "Arrows go downwards only. A part includes its own files and those of lower layers.")}
    status = 0
    for name, svg in drawings.items():
        path = f"docs/{name}.svg"
        if sys.argv[1:] != ["--check"]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(svg)
            continue
        is_svg = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                is_svg = file.read()
        if is_svg != svg:
            print(f"{path}: not what tools/drawings.py makes now: run it")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
