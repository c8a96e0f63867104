"""The way of a browser to its server, before anything is drawn."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.newcomer]


@pytest.mark.parametrize("name", ["", "playground"])
def test_a_page_finds_its_server_at_the_first_question(page, base_url, name):
    asked = []
    page.on("response", lambda answer: asked.append((answer.url, answer.status)))
    page.goto(f"{base_url}/{name}")
    page.locator(".root").first.wait_for(state="attached")
    assert [each for each in asked if "health" in each[0]] == [(f"{base_url}/_stcore/health", 200)]
    assert [each for each in asked if each[1] >= 400] == []


def test_all_scripts_are_known_before_the_first_of_them_runs(page, base_url):
    page.goto(f"{base_url}/playground")
    page.locator(".where").wait_for()
    urls = page.evaluate("performance.getEntriesByType('resource').map((each) => each.name)")
    scripts = {url.rsplit("/", 1)[1] for url in urls if url.endswith(".js")}
    first = page.request.get(f"{base_url}/playground").text()
    assert len(scripts) > 10
    assert [name for name in scripts if name not in first] == []
