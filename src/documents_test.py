"""The documents of the repository: their links lead somewhere, so that they read well on a code host."""

import re
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WHERE = ("*.md", "docs/*.md", "examples/*.md", "python/*.md", "results/*.md", "reference/*.md", "interop/*.md")


def prose(text):
    """Without code, in which brackets are not links."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`]*`", "", text)


def anchors(text):
    """The names under which a code host has the headings."""
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.*?) *$", without_code, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        there = document.parent / path if path else document
        if not there.exists() or (fragment and fragment not in anchors(there.read_text(encoding="utf-8"))):
            yield target


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        documents = [path for pattern in WHERE for path in sorted(ROOT.glob(pattern))]
        self.assertGreater(len(documents), 20)
        self.assertEqual([(str(path.relative_to(ROOT)), link) for path in documents for link in dead_links(path)], [])

    def test_every_document_is_named_by_the_readme(self):
        named = prose((ROOT / "README.md").read_text(encoding="utf-8"))
        missing = [path.name for path in (ROOT / "docs").glob("*.md") if f"(docs/{path.name})" not in named]
        self.assertEqual(missing, [])

    def test_a_link_to_nowhere_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            document = Path(folder) / "a.md"
            document.write_text("# One thing\n[a](a.md#one-thing) [b](#one-thing) [`c`](b.md) `[d](d.md)` [e](#two)\n")
            self.assertEqual(list(dead_links(document)), ["b.md", "#two"])


if __name__ == "__main__":
    unittest.main()
