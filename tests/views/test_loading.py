"""The loader of a model that can be had in two dtypes."""

from views.loading import Loader, OtherForm


def test_both_forms_compute_in_the_same_turns_and_are_each_loaded_once():
    loads = []

    def load(name):
        def loaded(progress):
            loads.append(name)
            return name

        return loaded

    both = Loader(load("own"), lambda model: OtherForm(("bfloat16", "4bit"), load("other")))
    assert both.of("4bit") is both
    both.start()
    both._future.result(10)
    assert (both.dtypes, both.of("bfloat16"), both.of(None)) == (("bfloat16", "4bit"), both, both)
    other = both.of("4bit")
    assert other.lock is both.lock
    for _ in range(3):
        other.start()
        other.retry()
    assert other._future.result(10) == "other"
    assert loads == ["own", "other"]
