"""What one visitor had drawn is there for the next who looks at the same moment."""

from views.widgets.pictures import Pictures


def test_a_picture_is_drawn_once():
    pictures, drawn = Pictures(), []

    def draw():
        drawn.append(1)
        return {"pool": b"{}"}

    assert pictures.get("a", draw) == pictures.get("a", draw) == {"pool": b"{}"}
    assert len(drawn) == 1


def test_what_nobody_asked_for_lately_goes_when_the_room_is_full():
    pictures, drawn = Pictures(max_bytes=10), []

    def draw(name):
        drawn.append(name)
        return {"pool": b"12345"}

    for name in "abacab":  # c takes the place of b
        pictures.get(name, lambda name=name: draw(name))
    assert drawn == ["a", "b", "c", "b"]
