"""The first page."""

MESSAGES: dict[str, str] = {
    "home.page": "Home",
    "home.what": "Watch a real paged-attention engine think: where the keys and values of every token live, block by block, exactly as vLLM 0.17.1 keeps them.",
    "home.learn": "Start lesson {n}",
    "home.learn_on": "Go on with lesson {n}",
    "home.learn_about": "Read a little, predict what the engine does next, and let it show you. No model needed.",
    "home.play": "Type your own prompts",
    "home.play_about": "A small language model answers in front of you. Step it forward and back, branch it, ask why it missed.",
    "home.open": "Open a trace",
    "home.open_about": "A file that Pagewalk wrote, whole or cut off, on the same stage. Compare and size from there.",
    "home.picture_about": "This is the documentation's own example, recorded from the engine. Everything on every page is drawn from such a record.",
    "home.step": "Step {step}",
    "home_word.picture": "A run of the engine as a moving picture",
    "home_word.pause": "Pause",
    "home_word.play": "Play",
    "home_word.pool": "Block pool",
    "home_word.queue": "Free queue",
    "home_word.head": "head →",
    "home_word.tail": "← tail",
}
