"""A little text with every kind of character, from which tests train."""

STORY = (
    "Once upon a time there was a fox who lived by the river. The fox didn't like rain, and it's raining again! "
    "Why don't they play in 1998 or 2024? Größe, naïve, 今天天气很好。 👩‍👧 \t tabs\r\n\r\n  and   spaces\n"
) * 12


def story_texts() -> list[str]:
    return [STORY, STORY[::2], STORY[5:900], "the end of the story " * 30]
