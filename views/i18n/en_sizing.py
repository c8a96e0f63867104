"""The pool calculator: its words in English."""

MESSAGES: dict[str, str] = {
    # What stands in the way
    "sizing_error.empty": "There is no config.json yet: paste one, open a file, or pick a model.",
    "sizing_error.long": "A config.json of {n} characters is too long: {most} are read. It is the small file beside the weights, not the weights.",
    "sizing_error.no_json": "This is not JSON: reading stops at line {line}, column {column}.",
    "sizing_error.no_object": "This JSON is not a config.json, which is an object with names such as num_hidden_layers.",
    "sizing_error.missing": "{key} is missing in this config.json: without it the page cannot be sized.",
    "sizing_error.number": "{key}={given} in this config.json is not a whole number in its range.",
    "sizing_error.head_dim": "head_dim is missing in this config.json, and hidden_size={hidden} is not a multiple of num_attention_heads={heads}.",
    "sizing_error.state": "This model has layers that keep a state of fixed size ({key}), as Mamba or linear attention do: missing are the shapes of their state tensors, which only the model's code knows.",
    "sizing_error.unequal": "The layers of this model keep different amounts of a token ({key}): missing is the size of each layer's page, which only the model's code knows.",
    "sizing_error.encoder": "This model has an encoder and a decoder: missing is the length of the encoder's output, which cross attention keeps in blocks.",
    "sizing_error.layer_types": "layer_types lists {n} layers, but num_hidden_layers={layers}.",
    "sizing_error.kind": "A layer of type {kind} keeps something whose size this page does not know: it knows full_attention, sliding_attention and chunked_attention.",
    "sizing_error.window_layers": "Only {n} minus {first} of the {n} layers would slide (max_window_layers={first}): vLLM 0.17.1 refuses that without layer_types.",
    "sizing_error.family": "How many weights a model of type {kind} has is not known here: type their GiB, as vLLM logs it (Model loading took ...).",
    "sizing_error.quantised": "How many bytes weights take under quant_method={method} is not known here: type their GiB, as vLLM logs it (Model loading took ...).",
    "sizing_error.no_length": "max_position_embeddings is missing in this config.json: type max_model_len.",
    "sizing_error.model": "There is no model “{given}” in the list: pick one, or paste its config.json.",
    "sizing_error.gib": "“{given}” is not a size: give GiB such as 80 or 22.5, up to {most}.",
    "sizing_error.share": "“{given}” is not a share: give a number above 0 and up to 1, such as 0.9.",
    "sizing_error.whole": "“{given}” is not a whole number from 1 to {most}.",
    "sizing_error.choice": "“{given}” is not one of {choices}.",
}
