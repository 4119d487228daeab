"""The report: results.json drawn as one HTML file, and metrics files read for it."""

from octavo.report.metrics import read_metrics
from octavo.report.render import render, write_report

__all__ = ["read_metrics", "render", "write_report"]
