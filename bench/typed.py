"""What the visitors of `make bench-classroom` type: each a prompt of their own, of about 15 to 30 tokens."""

TYPED = (
    "Explain to my little sister, who is five, why the moon looks different every night.",
    "I have two eggs, some rice and an onion. What could I cook for dinner tonight?",
    "Write the first four lines of a poem about a lighthouse that nobody needs any more.",
    "My bicycle makes a clicking noise whenever I go uphill. What might be the reason?",
    "How would you tell a grandparent what a computer network is, in three sentences?",
    "Give me five words that sound happy and say in which language each of them is used.",
    "Which animals sleep through the winter, and how do they know when it is over?",
    "Please correct this sentence: Me and him goes to the library every tuesday evening.",
    "Suppose a train leaves at noon and travels for ninety minutes. When does it arrive?",
    "What should somebody see in the city of Lisbon who has only one afternoon there, likes old ships and cannot walk up many stairs?",
    "Compare a violin with a cello for somebody who has never heard either of them.",
    "Tell me about a mistake that a famous scientist made and later admitted in public.",
    "List the steps for planting an apple tree in a garden with a lot of clay in the soil, and say in which month one should begin.",
    "Why do some countries drive on the left side of the road and others on the right?",
    "Invent a name for a small bakery that sells nothing but bread with seeds in it.",
    "How many weeks are there between the first of March and the end of September?",
    "Translate good morning, how did you sleep into as many languages as you know.",
    "What happens inside a battery while it is being charged, and why does it get warm?",
    "Describe the smell of rain on a hot street without using the word rain or wet.",
    "Our school wants to save paper. Suggest four things that cost nothing to begin with.",
    "Who decides how a new element is called, and what are the rules for such a name?",
    "Write a short and very polite letter in which a cat complains about the opening hours of the kitchen door.",
    "Is it true that goldfish forget everything after a few seconds? Please give reasons.",
    "Name an everyday object that has hardly changed in two thousand years, and say why.",
    "What is the difference between a lake, a pond and a lagoon? Give one line for each, and an example that I could visit.",
    "Help me to prepare for a job interview in a museum: ask me three hard questions.",
    "How can a ship that is made of steel float on water while a steel spoon goes down?",
    "Summarise the story of Romeo and Juliet as if it had happened in an office between the people of two departments.",
    "I want to learn the guitar in half a year. Make a plan with a goal for every month.",
    "Which is heavier, a litre of milk or a litre of water, and how could I find out?",
)


def typed_by(number: int) -> str:
    """Of visitor `number`, from 0; no two of them type the same."""
    again, place = divmod(number, len(TYPED))
    return TYPED[place] if again == 0 else f"{TYPED[place]} I ask this for time {again + 1}."
