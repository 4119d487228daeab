"""The page: whole HTML, escaped, the same bytes for the same results, nothing fetched, no null as 0."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from make_results import VARIANTS, make_results

from octavo.artifacts import Folder
from octavo.errors import InputError
from octavo.report import render, write_report

VOID = {"meta", "br", "link", "img", "input", "hr", "wbr"}


class Page(HTMLParser):
    """Checks the balance of tags; keeps ids, attributes that fetch, and the text of table cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.rows: list[list[str]] = []
        self.table = ""
        self.tables: dict[str, list[list[str]]] = {}
        self.feed(text)
        self.close()
        assert not self.stack, self.stack

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._note(tag, dict(attrs))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._note(tag, dict(attrs))

    def _note(self, tag: str, attrs: dict[str, str | None]) -> None:
        if attrs.get("id"):
            self.ids.append(str(attrs["id"]))
        self.fetched += [
            str(attrs[key]) for key in ("src", "href", "xlink:href", "srcset", "data") if attrs.get(key)
        ]
        if tag == "table":
            self.table = str(attrs.get("class"))
            self.tables.setdefault(self.table, [])
        elif tag == "tr":
            self.tables[self.table].append([])
        elif tag in ("td", "th"):
            self.tables[self.table][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.stack
        assert self.stack.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        if ("td" in self.stack or "th" in self.stack) and "table" in self.stack:
            self.tables[self.table][-1][-1] += data


@pytest.fixture(scope="module")
def results() -> dict:
    return make_results()


@pytest.fixture(scope="module")
def html(results: dict) -> str:
    return render(results)


def test_page_is_whole_and_fetches_nothing(html: str) -> None:
    page = Page(html)
    assert len(page.ids) == len(set(page.ids))
    assert page.fetched
    assert all(target.startswith("#") and target[1:] in page.ids for target in page.fetched)
    assert all(target in page.ids for target in re.findall(r"url\(#([^)]+)\)", html))
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)
    assert "default-src 'none'" in html


def test_same_results_give_the_same_bytes(results: dict, html: str) -> None:
    assert render(copy.deepcopy(results)) == html
    assert render(json.loads(json.dumps(results))) == html


def test_no_placeholder_colour_is_left(html: str) -> None:
    assert not re.search(r"#0[ab]00", html)
    assert all(f"var(--s{i})" in html for i in range(8))


def test_every_run_is_in_every_part(html: str) -> None:
    page = Page(html)
    for table in ("runs", "heat"):
        shown = [row[0] for row in page.tables[table]]
        assert all(f"{variant}-s0" in shown for variant in VARIANTS), table
    for variant in VARIANTS:
        assert f"Training loss of {variant}-s0" in html
        assert html.count(f"<h4>{variant}-s0</h4>") == 2


def test_quarantined_run_shows_dashes_and_names(html: str) -> None:
    row = next(row for row in Page(html).tables["runs"] if row[0] == "agl-full-s0")
    assert row[1:3] == ["quarantined loss is nan at step 59 (batch 58)", "dead"]
    assert row[7] == "nan"
    assert row[8:13] == ["–"] * 5


def test_null_is_a_dash_everywhere_and_zero_a_zero(results: dict) -> None:
    emptied = copy.deepcopy(results)
    kept = {"id", "variant", "base", "seed", "hyperparameters"}
    emptied["runs"] = [
        {key: value if key in kept else None for key, value in run.items()} for run in emptied["runs"]
    ]
    emptied["runs"][1]["events"] = 0
    emptied["matrix"]["heldout_loss"] = [[None] * 8 for _ in range(9)]
    emptied["memory"] = dict.fromkeys(emptied["memory"])
    emptied["throughput"] = None
    page = Page(render(emptied))
    body = page.tables["runs"][2:]
    assert [row[1:] for row in body if row[0] != "think-s0"] == [["–"] * 14] * 7
    assert [row[1:] for row in body if row[0] == "think-s0"] == [["–"] * 13 + ["0"]]
    assert [row[1:] for row in page.tables["heat"][1:]] == [["–"] * 8] * 9
    assert [row[1] for row in page.tables["bars"]] == ["–"] * 3
    assert [row[1] for row in page.tables["pairs figures"]] == ["–"] * 2


def test_text_from_outside_is_escaped(results: dict) -> None:
    bad = '<script>alert("x")</script>'
    hostile = json.loads(json.dumps(results).replace("control-s0", json.dumps(bad)[1:-1]))
    hostile["study"]["report"]["title"] = bad
    hostile["runs"][0]["state"] = 'x" onmouseover="alert(1)'
    hostile["criteria"][0]["evidence"] = {bad: [bad]}
    hostile["runs"][6]["events"][0]["evidence"] = {"tensor": bad}
    hostile["data"][bad] = {bad: bad}
    hostile["device"] = bad
    hostile["evaluation"]["generations"][0] |= {"prompt": [{"role": "user", "content": bad}]}
    hostile["evaluation"]["generations"][0]["answers"][bad] = bad + "\ud83d</style>"
    text = render(hostile)
    page = Page(text)
    assert "script" not in page.tags
    assert "<script" not in text
    assert text.count("</style>") == 1
    assert not re.search(r'<[^>]*" onmouseover=', text)
    assert "&lt;script&gt;" in text


def test_no_statement_about_recipes_from_one_seed(html: str) -> None:
    assert "With one seed no claim about a recipe is possible" in html
    assert "Seven of eight runs completed. Two of four criteria are met." in html


@pytest.mark.parametrize(
    "text", [{}, {"runs": [], "criteria": None, "study": "name"}, {"runs": [{"id": "a-s0"}]}]
)
def test_bare_results_still_give_a_page(text: dict) -> None:
    page = render(text)
    Page(page)
    assert page.rstrip().endswith("</html>")
    assert all(run["id"] in page for run in text.get("runs", []))


def test_values_that_are_really_nan_in_the_file(results: dict) -> None:
    """A results.json written by another program may hold NaN and Infinity themselves."""
    other = copy.deepcopy(results)
    other["runs"][0] |= {"heldout_loss": float("nan"), "seconds": float("inf"), "label_tokens": float("nan")}
    other["runs"][0]["curves"]["loss"][3] = float("nan")
    row = next(row for row in Page(render(other)).tables["runs"] if row[0] == "control-s0")
    assert (row[4], row[8], row[13]) == ("nan", "nan", "inf")


def test_many_runs_share_a_style_by_variant(results: dict) -> None:
    many = copy.deepcopy(results)
    many["runs"] = [
        copy.deepcopy(run) | {"id": f"{run['variant']}-s{seed}", "seed": seed}
        for seed in range(5)
        for run in results["runs"]
    ]
    text = render(many)
    assert text.count('<svg class="swatch"') == 40 + 8
    assert "cannot give p below 0.0079" in text
    assert all(f"{variant}-s4" in text for variant in VARIANTS)


def test_write_report_reads_results_alone(tmp_path: Path, results: dict, html: str) -> None:
    folder = Folder(tmp_path)
    with pytest.raises(InputError, match="octavo run"):
        write_report(folder)
    folder.results.write_text("[1", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        write_report(folder)
    folder.results.write_text(json.dumps(results), encoding="utf-8")
    assert write_report(folder) == folder.report
    assert folder.report.read_text(encoding="utf-8") == html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results.json"]
