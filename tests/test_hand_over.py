"""No case of data/cases.json is forgotten: each is tested, or listed with the reason why not yet."""

import re

import pytest

from tests.hand_over import CASES, INPUTS, NOT_YET, REPORTS, of_area
from tests.runner.test_tokenizer import COUNTED, SWITCHED, TOKEN_IDS, WITH_IDS
from tests.source_tree import modules_under
from tests.test_inputs import SAMPLING

LISTS = ("tests.hand_over", "tests.test_hand_over")  # name cases and test none
READ_FROM_FILE = {*WITH_IDS, *COUNTED, *SWITCHED, *TOKEN_IDS, *SAMPLING, *of_area("link")}


@pytest.fixture(scope="module")
def sources() -> str:
    tests = [module for module in modules_under("tests") if module.name not in LISTS]
    return "\n".join(module.path.read_text(encoding="utf-8") for module in tests)


def is_named(case_id: str, sources: str) -> bool:
    return re.search(rf"\b{case_id}\b", sources) is not None


def is_tested(case_id: str, sources: str) -> bool:
    has_scenario = bool(REPORTS.get(case_id, {}).get("workloads"))  # test_cases.py runs them all
    return has_scenario or case_id in READ_FROM_FILE or is_named(case_id, sources)


@pytest.mark.parametrize("case_id", [*REPORTS, *INPUTS])
def test_a_case_is_tested_or_says_why_not_yet(case_id: str, sources: str) -> None:
    assert is_tested(case_id, sources) or NOT_YET[case_id]


def test_only_cases_that_exist_have_a_reason() -> None:
    assert set(NOT_YET) <= {*REPORTS, *INPUTS}


@pytest.mark.parametrize("case_id", sorted(NOT_YET))
def test_a_case_that_is_tested_leaves_the_list(case_id: str, sources: str) -> None:
    assert not is_named(case_id, sources)


def test_every_area_of_the_file_is_known() -> None:
    areas = {case["area"] for case in CASES["inputs"]}
    assert areas == {"prompt", "sampling", "token ids", "link", "trace file"}
