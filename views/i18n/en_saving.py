"""Saved runs, and what a server allows: their words in English."""

MESSAGES: dict[str, str] = {
    # Saved runs
    "saved.gone": "The link names a saved run that is not here any more. Old runs are removed in time, and a link that was cut off finds nothing.",
    "saved.damaged": "The saved run could not be opened: {reason}.",
    "saved.back.one": "The page was begun anew, and the run is back as it was saved: {n} finished step.",
    "saved.back.other": "The page was begun anew, and the run is back as it was saved: {n:,} finished steps.",
    "saved.beside": "Runs that stood beside it have links of their own.",
    "saved.in_part": "A part of its file is damaged ({reason}).",
    "saved.full.one": "From here on this run is not saved: with {n} step it has filled the {most:,} bytes that a saved run may take here. It goes on, and its link will bring back what was saved.",
    "saved.full.other": "From here on this run is not saved: with {n:,} steps it has filled the {most:,} bytes that a saved run may take here. It goes on, and its link will bring back what was saved.",
    "saved.disk.one": "From here on this run is not saved: after {n} step the server could not write ({reason}). It goes on, and its link will bring back what was saved.",
    "saved.disk.other": "From here on this run is not saved: after {n:,} steps the server could not write ({reason}). It goes on, and its link will bring back what was saved.",
    "saved.waiting": "This run can be looked at, and goes on once the model is there.",
    "saved.stopped": "Stopped: the engine has not yet repeated the past of this run, so nothing can be asked of it. A step beyond its end lets it go on.",
    "notice_kind.unsaved": "Not saved any more",
    "notice_kind.at_rest": "Only to look at for now",
    # What a server allows
    "limit.prompt": "The prompt has {n:,} bytes, and this server takes {most:,}: shorten it.",
    "limit.upload": "The file has {n:,} bytes, and this server opens {most:,}: take a shorter run.",
    "limit.pool": "num_blocks={num_blocks} of {block_size} tokens take {needed:,} bytes for K and V, and this server gives each visitor {most:,}: lower num_blocks to {fits}.",
    "limit.pool_held": "num_blocks={num_blocks} of {block_size} tokens take {needed:,} bytes for K and V. This server gives each visitor {most:,}, and your other runs hold {held:,}: lower num_blocks to {fits}, or close a run.",
    "limit.pool_none": "Your other runs hold {held:,} of the {most:,} bytes for K and V that this server gives each visitor, and no room is left for a pool of blocks of {block_size} tokens: close a run.",
    "limit.sessions.one": "This server serves {n} visitor at a time, and somebody is here. Try again in a minute: who leaves makes room.",
    "limit.sessions.other": "This server serves {n:,} visitors at a time, and all places are taken. Try again in a minute: who leaves makes room.",
}
