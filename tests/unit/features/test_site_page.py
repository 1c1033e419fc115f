"""The page of a published site: escaped, complete in itself, and always the same."""

import re
from html.parser import HTMLParser
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from skillwire.features.site_page import PublishedSkill, render_site_page

names = st.from_regex(r"[a-z0-9]{1,12}(-[a-z0-9]{1,6})?", fullmatch=True)
texts = st.text(max_size=60) | st.sampled_from(
    ["</li><script>x</script>", "<!--skills-->", '" onclick="x', "`a` ` b", "\\1 \\g<0>", "&lt;", "\u202e"]
)
skills = st.builds(
    PublishedSkill,
    names,
    texts,
    st.just("x.0123/SKILL.md"),
    st.lists(st.tuples(texts.filter(bool), st.integers(0, 1 << 40)), max_size=3).map(tuple),
)


class Elements(HTMLParser):
    """Collects the elements of a page, and the text inside skills."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


@given(st.lists(skills, max_size=4, unique_by=lambda skill: skill.name))
def test_no_text_of_a_skill_becomes_markup(shown: list[PublishedSkill]) -> None:
    empty = Elements(render_site_page([]).decode())
    page = Elements(render_site_page(shown).decode())
    assert page.tags.count("article") == len(shown)
    assert {tag: page.tags.count(tag) for tag in ("script", "style", "img", "meta")} == {
        tag: empty.tags.count(tag) for tag in ("script", "style", "img", "meta")
    }
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "style"]
    links = [value or "" for name, value in page.attributes if name in {"href", "src"}]
    assert all(re.match(r"#|data:|\.well-known/agent-skills/[^:?#]*$", link) for link in links)


@given(st.lists(skills, max_size=4, unique_by=lambda skill: skill.name), st.randoms())
def test_the_order_of_skills_does_not_change_the_page(shown: list[PublishedSkill], random: Random) -> None:
    page = render_site_page(shown)
    random.shuffle(shown)
    assert render_site_page(shown) == page


def test_a_skill_with_many_files_lists_the_first() -> None:
    files = tuple((f"{number}.md", 10) for number in range(1000))
    page = render_site_page([PublishedSkill("large", "Has files.", "large.0123.tar.gz", files)]).decode()
    assert "1,000 files" in page
    assert "And 800 more" in page
    assert page.count('<ul class="files">') == 1
    assert page.count("/large/") == 200
