#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that the manual pages have the options of the tool's --help, and no others.

An option is documented by an entry of its own (.TP), with its short form if there is one. Ranges
and defaults in --help ("10us to 10s", "(5ms)") have to be in that entry, too.

  tools/man/check.py build/bin/canary
"""
import os
import re
import subprocess
import sys

# page: the commands whose --help it has to match
PAGES = {
    "canary-switch.8": ["switch"],
    "canary-allreduce.8": ["allreduce"],
    "canary-perf.8": ["perf"],
    "canary-comm.8": ["comm", "comm rules", "stats"],
    "canary-fault.8": ["fault"],
    "canary-sim.1": [""],
}
# page: another program, beside the tool
PROGRAMS = {"canary-sim.1": "canary-sim"}
# page: another page that has the rest of its options
ELSEWHERE = {"canary-perf.8": "canary-allreduce.8"}

OPTION = re.compile(r"^ {2,6}(?:-(\w), )?--([a-z][a-z_-]*)(.*)")
# texts in --help that look like ranges of values
NOT_VALUES = {"1 to 40"}
RANGE = re.compile(r"[\d.]+[a-z%]* to [\d.]+[a-z%]*")
DEFAULT = re.compile(r"\((\d[\d.]*(?:[a-zA-Z]+|%)?|on|off|[a-z]+)\)")


def options_of(tool, command):
    """Return: {name: (letter or "", text of the help)}, {names in the lines of usage}"""
    done = subprocess.run([tool, *command.split(), "--help"], stdout=subprocess.PIPE, text=True,
                          check=True)
    found, last = {}, None
    for line in done.stdout.splitlines():
        match = OPTION.match(line)
        if match:
            last = match[2]
            found[last] = (match[1] or "", match[3])
        elif last and line.startswith(" " * 10):
            found[last] = (found[last][0], found[last][1] + " " + line.strip())
        else:
            last = None
    if not found:
        raise SystemExit(f"{tool} {command} --help names no option")
    return found, set(re.findall(r"--([a-z][a-z_-]*)", done.stdout.partition("\n\n")[0]))


def synopsis_of(text):
    """Names of the options in the page's synopsis"""
    return set(re.findall(r"--([a-z][a-z_-]*)", text.partition(".SH SYNOPSIS")[2].partition(".SH")[0]))


def entries_of(text):
    """Yield for each .TP of the page: (what is described, its text), without groff's markup."""
    for part in re.split(r"^\.TP\n", text, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        body = re.split(r"^\.S[HS]", body, flags=re.M)[0]
        yield re.sub(r"\\f[A-Z]|\"", "", head), re.sub(r"\s+", " ", re.sub(r"^\.\w+", "", body, flags=re.M))


def complaints(name, text, options, usage, shared):
    """Return: what is wrong with the page @name. Options in @shared may be missing."""
    told = {}
    for option in usage - synopsis_of(text):
        yield f"{name}: --{option} is missing in the synopsis"
    for head, body in entries_of(text):
        for option in re.findall(r"--([a-z][a-z_-]*)", head):
            told[option] = (head, body)
    for option, (letter, text) in options.items():
        if option not in told:
            if option not in shared:
                yield f"{name}: --{option} is missing"
            continue
        head, body = told[option]
        if letter and not re.search(rf"(?<![-\w])-{letter}\b", head):
            yield f"{name}: --{option}: its short form -{letter} is missing"
        for value in RANGE.findall(text) + DEFAULT.findall(text):
            if value not in body and value not in NOT_VALUES:
                yield f"{name}: --{option}: '{value}', which --help says, is missing"
    for option in told:
        if option not in options:
            yield f"{name}: --{option}: there is no such option"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/man/check.py build/bin/canary")
    tool, here = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
    bad, number = [], 0
    for name, commands in PAGES.items():
        options, usage = {}, set()
        program = os.path.join(os.path.dirname(tool), PROGRAMS.get(name, os.path.basename(tool)))
        for command in commands:
            more, used = options_of(program, command)
            options.update(more)
            usage |= used - {"help"}
        elsewhere = ELSEWHERE.get(name)
        shared = options_of(tool, PAGES[elsewhere][0])[0] if elsewhere else {}
        number += len(options)
        with open(os.path.join(here, name), encoding="ascii") as page:
            text = page.read().replace("\\-", "-")
        bad += complaints(name, text, options, usage, shared)
    for line in bad:
        print(line)
    print(f"{number} options in {len(PAGES)} pages, {len(bad)} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
