#!/usr/bin/env python3
"""Writes unicode_categories.inc: the code point ranges of letters, numbers and white space (run: unicode_categories.py > unicode_categories.inc)."""
import sys
import unicodedata

# White_Space of the Unicode character database (PropList.txt), which \s of the GPT-2 pattern means.
SPACES = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}


def ranges(member):
    out = []
    for code in range(0x110000):
        if member(code):
            if out and out[-1][1] == code - 1:
                out[-1][1] = code
            else:
                out.append([code, code])
    return out


def table(name, member):
    found = ranges(member)
    print(f"constexpr CodePointRange {name}[] = {{")
    items = [f"{{0x{a:x}, 0x{b:x}}}" for a, b in found]
    for k in range(0, len(items), 6):
        print("    " + ", ".join(items[k:k + 6]) + ",")
    print("};")


category = lambda code: unicodedata.category(chr(code))
print(f"// Made by unicode_categories.py from Unicode {unicodedata.unidata_version}; do not edit.")
table("kLetters", lambda code: category(code).startswith("L"))
table("kNumbers", lambda code: category(code).startswith("N"))
table("kSpaces", lambda code: code in SPACES)
