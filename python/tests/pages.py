"""Reads the pages that Coracle writes."""

import base64
import gzip
import pathlib
import re


def run_of(path):
    """The run in a page, as text."""
    page = pathlib.Path(path).read_text()
    return gzip.decompress(base64.b64decode(re.search(r'<script id="run"[^>]*>([^<]+)', page).group(1))).decode()
