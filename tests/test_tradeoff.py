"""benchmarks/tradeoff.py: every parser is a mark where it belongs, and no two names lie on each other."""

import re
from xml.etree import ElementTree

from support.pages import ROOT
from test_project import load


def test_a_faster_parser_is_further_right_and_a_better_one_higher(tmp_path):
    script = load(ROOT / "benchmarks" / "tradeoff.py")
    results = str(ROOT / "docs" / "lab" / "results" / "alpino-default-1.json")
    points = [["--point", name, results, speed] for name, speed in (("slow <one>", "80"), ("fast", "400"))]
    script.main(["-o", str(tmp_path / "plot.svg"), *points[0], *points[1]])
    drawn = ElementTree.parse(tmp_path / "plot.svg").getroot()
    marks = {}
    for circle in drawn.iter("{http://www.w3.org/2000/svg}circle"):
        name = re.sub(r": [0-9.]+ F1.*", "", circle[0].text)
        marks[name] = float(circle.get("cx")), float(circle.get("cy"))
    assert len(marks) == 2 + len(script.PEERS)
    assert marks["slow <one>"][0] < marks["fast"][0]
    assert marks["slow <one>"][1] == marks["fast"][1] < marks["Coavoux & Cohen 2019, one core"][1]
