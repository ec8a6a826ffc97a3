"""Hooks of the site generator: the README becomes the first page, and links that leave docs/ lead to the repository."""

import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Pages from outside docs/, and their names in the site.
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}


def on_files(files, config):
    for source, name in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    directory = (ROOT / "docs" / page.file.src_uri).parent

    def link(found):
        target, _, anchor = found[1].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        here = ROOT if page.file.src_uri in PAGES.values() else directory
        if page.file.src_uri in PAGES.values() and (ROOT / "docs" / target).exists():
            return found[0]
        path = (here / target).resolve()
        if path.is_relative_to(ROOT / "docs") and path.suffix in (".md", ".svg"):
            return found[0]
        if not path.exists():
            return found[0]
        kind = "tree" if path.is_dir() else "blob"
        fragment = f"#{anchor}" if anchor else ""
        return f"]({config.repo_url}/{kind}/main/{path.relative_to(ROOT)}{fragment})"

    return re.sub(r"\]\(([^)\s]+)\)", link, markdown)
