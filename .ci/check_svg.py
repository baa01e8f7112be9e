"""Check a drawing: `check_svg.py FILE WORD...` fails unless FILE is well-formed SVG that shows every WORD as text."""

import sys
import xml.etree.ElementTree as ElementTree

path, *words = sys.argv[1:]
root = ElementTree.parse(path).getroot()
if not root.tag.endswith("svg"):
    sys.exit(f"{path}: the root element is {root.tag}, not svg")

shown = " ".join(text for element in root.iter() for text in (element.text, element.tail) if text).split()
missing = [word for word in words if not any(word in piece for piece in shown)]
if missing:
    sys.exit(f"{path}: does not show {', '.join(missing)}")
print(f"{path}: well-formed, {sum(1 for _ in root.iter())} elements, shows {', '.join(words)}")
