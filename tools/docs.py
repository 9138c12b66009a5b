#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that documents are easy to read, and that what they name exists.

    docs.py             checks this tree: *.md, and the manual pages in tools/man

A sentence has at most 40 words, a line at most 110 columns. Tables and code blocks may be longer.

Whatever a document names has to exist:
 - links, their anchors, and sections of the specification (PROTOCOL.md, "A switch"), in comments, too;
 - files, functions, types and counters of this project in backticks;
 - targets of `make`;
 - files in drawings, and documents in comments of sources;
 - statements in C, in the program in examples/ that the text before them links to.
<!-- made up: NAME NAME --> in a document excuses names of its examples. Each file of some folders
has to be in the table that explains them.

Exit status: 1 if something is wrong.
"""
import fnmatch
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

WORDS = 40
COLUMNS = 110
# Documents of which only the names are checked, and not the sentences
NOT_YET = set()

# Folders, and the page whose table explains each of their files
EXPLAINED = {
    "kmod/*.c": "kmod/README.md", "bpf/lib/*.h": "bpf/README.md",
    "userspace/lib/*.c": "userspace/README.md", "userspace/switchd/*.c": "docs/architecture.md",
    "tools/sim/*.c": "tools/sim/README.md", "topology/*.py": "topology/README.md",
}

SOURCES = (".c", ".h", ".py", ".sh", ".mk", ".8", ".7", ".3", ".topo")
FILE = re.compile(r"[\w*-][\w.*-]*\.(?:c|h|py|sh|md|mk|topo|svg|txt|map|bpf\.c)|Makefile|Kbuild")
OURS = re.compile(r"(?:struct |enum )?((?:cnr|csw|canary|CNR|CSW|CANARY)_\w+?)(?:\(\))?")
TARGET = re.compile(r"make (?:[A-Z_]+=\S+ )*([a-z][a-z0-9-]*)(?![/\w])")
ROFF_BREAKS = ("SH", "SS", "PP", "IP", "TP", "RS", "RE", "TH", "br", "nf", "fi")


def tracked():
    """All files of the tree, also those that are not committed yet"""
    done = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                          check=True, capture_output=True, text=True)
    return sorted(name for name in set(done.stdout.splitlines()) if os.path.exists(name))


def read(name):
    with open(name, encoding="utf-8") as document:
        return document.read()


def blocks_of_markdown(text):
    """Return: (number of the first line, text) of each paragraph, heading and list item, and the
    numbers of lines that are neither code nor part of a table"""
    blocks, plain, start, gathered, fence = [], [], 0, [], False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            fence = not fence
            code = True
        else:
            code = fence or line.startswith(("\t", "    "))
        table = line.lstrip().startswith("|")
        item = re.match(r" *(?:[-*]|\d+\.) |#+ ", line)
        if (not line.strip() or code or table or item) and gathered:
            blocks.append((start, " ".join(gathered)))
            gathered = []
        if code or table:
            continue
        plain.append(number)
        if line.strip():
            start = start if gathered else number
            gathered.append(line.strip())
        if line.startswith("#"):
            blocks.append((start, " ".join(gathered)))
            gathered = []
    return blocks, plain


def blocks_of_roff(text):
    """The same as blocks_of_markdown(), for a manual page"""
    blocks, plain, start, gathered, code, tag = [], [], 0, [], False, False
    for number, line in enumerate([*text.splitlines(), ".PP"], 1):
        macro = re.match(r"\.(\w+)", line)
        name = macro.group(1) if macro else ""
        if name in ROFF_BREAKS and gathered:
            blocks.append((start, " ".join(gathered)))
            gathered = []
        if name in ("nf", "fi"):
            code = name == "nf"
        if code or line.startswith('.\\"'):
            continue
        plain.append(number)
        line = re.sub(r"\\f.|\"", "", line.replace("\\-", "-").replace("\\(dq", '"'))
        words = line[len(macro.group(0)):].strip() if macro else line
        # These macros change the font in the middle of a word, so their arguments are joined
        # without blanks.
        if name in ("BR", "RB", "IR", "RI", "BI", "IB"):
            words = re.sub(r" +([.,;:)\]])", r"\1", words)
        if words.strip() and name != "TH":
            start = start if gathered else number
            gathered.append(words)
        if (tag or name in ("SH", "SS")) and gathered:
            blocks.append((start, " ".join(gathered)))
            gathered = []
        tag = name == "TP"
    return blocks, plain


def sentences(block):
    """The sentences of a block, without markup"""
    block = re.sub(r"``[^`]*``|`[^`]*`", "code", block)
    block = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", block)
    return re.split(r"(?<=[.!?])[\"')*_]*\s+(?=[A-Z0-9\"'(\[*])|(?<=[.!?])[\"')*_]*\s+(?=code)", block)


def check_prose(name, text):
    """Yield what is wrong with sentences and lines."""
    blocks, plain = (blocks_of_markdown if name.endswith(".md") else blocks_of_roff)(text)
    lines = text.splitlines()
    for number in plain:
        if number <= len(lines) and len(lines[number - 1].expandtabs(8)) > COLUMNS:
            yield f"{name}:{number}: {len(lines[number - 1])} columns"
    for number, block in blocks:
        for sentence in sentences(block):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > WORDS:
                yield f"{name}:{number}: {len(words)} words: {' '.join(words[:9])} ..."


def anchors(text):
    """The anchors that forges make for a document's headings"""
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def check_links(name, text):
    """Yield links that lead nowhere."""
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if not os.path.exists(target):
            yield f"{name}: link to {link}: there is no {target}"
        elif anchor and anchor not in set(anchors(read(target))):
            yield f"{name}: link to {link}: no such heading"


def check_sections(files):
    """Yield references to sections that the specification does not have, in all text files."""
    headings = re.findall(r"^#+ (?:[\d.]+ )?(.*)$", read("PROTOCOL.md"), re.M)
    headings += re.findall(r"^\W*\*\*(.*?)\.?\*\*", read("PROTOCOL.md"), re.M)
    for file in files:
        if file.endswith(SOURCES + (".md",)):
            # A comment may break the line within the reference.
            for title in re.findall(r'PROTOCOL\.md,[\s*#]+"([^"\n]+)"', read(file)):
                if title not in headings:
                    yield f"{file}: PROTOCOL.md has no section \"{title}\""


def check_comments(files):
    """Yield documents that comments of sources name and that do not exist."""
    for file in files:
        if file.endswith((".c", ".h", ".mk")):
            for name in re.findall(r"(?<![\w/.])(?:[\w-]+/)+[\w-]+\.md\b", read(file)):
                if not os.path.exists(name):
                    yield f"{file}: {name}: no such file"


class Tree:
    """The names of files, make targets and identifiers that exist"""

    def __init__(self, files):
        self.files = files
        self.names = {os.path.basename(file) for file in files}
        self.tops = {file.split("/")[0] for file in files if "/" in file}
        self.words, self.targets = set(), set()
        for file in files:
            if file.endswith(SOURCES) or os.path.basename(file) in ("Makefile", "libcanary.map"):
                text = read(file)
                self.words |= set(re.findall(r"\w+", text))
            if file.endswith(".mk") or file == "Makefile":
                heads = re.findall(r"^([a-z][a-z0-9% -]*)::?(?!=)", text, re.M)
                self.targets |= set(" ".join(heads).split())
                self.targets |= set(re.findall(r": ([a-z][a-z0-9-]*%):", text))
                self.targets |= set(" ".join(re.findall(r"^\.PHONY:(.*)$", text, re.M)).split())

    def has(self, name, path):
        """Is there a file or folder @path, relative to document @name or to the top? * stands for
        any name."""
        for base in ("", os.path.dirname(name)):
            full = os.path.normpath(os.path.join(base, path))
            if os.path.exists(full) or fnmatch.filter(self.files, full):
                return True
        return False

    def makes(self, target):
        """Is there a rule for @target?"""
        return any(fnmatch.fnmatch(target, rule.replace("%", "*")) for rule in self.targets)

    def has_word(self, word):
        """Is there such a name in the sources? Lists (X-macros) add a prefix to the names of their
        entries."""
        listed = re.match(r"(?:CNR_C_|CSW_CHOOSE_|CSW_|CANARY_DROP_)(\w+)", word)
        return word in self.words or (listed and listed.group(1) in self.words)


def check_names(name, text, tree):
    """Yield names in a document that the tree does not have."""
    made_up = set(" ".join(re.findall(r"<!-- made up: (.*?) -->", text)).split())
    for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text):
        word = span.strip()
        first = word.split("/")[0]
        if word in made_up:
            continue
        if re.fullmatch(r"[\w.*/-]+/[\w.*-]*", word) and first in tree.tops:
            if not tree.has(name, word):
                yield f"{name}: `{word}`: no such file"
        elif FILE.fullmatch(word):
            if not tree.has(name, word) and not fnmatch.filter(tree.names, word):
                yield f"{name}: `{word}`: no such file"
        elif OURS.fullmatch(word):
            if not tree.has_word(OURS.fullmatch(word).group(1)):
                yield f"{name}: `{word}`: not in the sources"
    commands = re.findall(r"`(make [^`]*)`", text) + re.findall(r"^(?:\t|    )\s*(make .*)$", text, re.M)
    for command in commands:
        target = TARGET.match(command)
        if target and not tree.makes(target.group(1)):
            yield f"{name}: make {target.group(1)}: no such target"


def statement(text):
    """Code without comments, breaks and indentation, for a comparison"""
    return " ".join(re.sub(r"/\*.*?\*/", " ", text, flags=re.S).split())


def check_copies(name, text):
    """Yield statements that are not in the example that was linked to last."""
    program, source = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        for program in re.findall(r"\]\((examples/\w+\.c)\)", line):
            source = statement(read(program)) if os.path.exists(program) else ""
        code = statement(line)
        if line.startswith("\t") and source and code.endswith(";") and \
                not re.search(rf"(?<!\w){re.escape(code[:-1])}(?!\w)", source):
            yield f"{name}:{number}: not in {program}: {code}"


def check_explained(files):
    """Yield files that no page explains."""
    for pattern, page in EXPLAINED.items():
        text = read(page)
        for file in files:
            # Only files directly in the folder: fnmatch() lets * match slashes, too.
            if os.path.dirname(file) == os.path.dirname(pattern) and fnmatch.fnmatch(file, pattern) and \
                    f"`{os.path.basename(file)}`" not in text:
                yield f"{page}: `{os.path.basename(file)}` is not in its table ({file})"


def check_drawing(name, tree):
    """Yield files that a drawing names and that do not exist."""
    for element in xml.etree.ElementTree.parse(name).getroot().iter():
        for word in (element.text or "").split() if element.tag.endswith("text") else []:
            word = word.strip(",;:()")
            if ("/" in word and word.split("/")[0] in tree.tops) or FILE.fullmatch(word):
                if not tree.has(name, word) and os.path.basename(word) not in tree.names:
                    yield f"{name}: {word}: no such file"


def main():
    """Return: exit status"""
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    files = tracked()
    tree, wrong = Tree(files), []
    documents = [file for file in files if file.endswith(".md")]
    pages = [file for file in files if re.fullmatch(r"tools/man/[\w-]+\.\d", file)]
    drawings = [file for file in files if file.startswith("docs/") and file.endswith(".svg")]
    for name in documents + pages:
        text = read(name)
        if name not in NOT_YET:
            wrong += check_prose(name, text)
        if name in documents:
            wrong += check_links(name, text)
            wrong += check_names(name, text, tree)
            wrong += check_copies(name, text)
    for name in drawings:
        wrong += check_drawing(name, tree)
    wrong += check_explained(files)
    wrong += check_sections(files)
    wrong += check_comments(files)
    for line in wrong:
        print(line)
    print(f"{len(documents)} documents, {len(pages)} manual pages, {len(drawings)} drawings, "
          f"{len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
