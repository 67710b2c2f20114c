"""# Finding names of dates in text

A conditional random field over words with attributes as CRFsuite takes them: a dict for each word.
The sentences are generated.
"""

# %% Sentences with dates in them
import random

import minorant

MONTHS = ["January", "March", "May", "June", "August", "October"]
WORDS = "we may meet on the second march and walk by the sea until june comes again".split()


def sentence(rng):
    """Words and their tags: B-DATE, I-DATE or O."""
    words = rng.choices(WORDS, k=rng.randint(3, 8))
    tags = ["O"] * len(words)
    at = rng.randint(0, len(words))
    date = [str(rng.randint(1, 28)), rng.choice(MONTHS)] + [str(rng.randint(1990, 2030))]
    date = date[: rng.choice([2, 3])]
    words[at:at] = date
    tags[at:at] = ["B-DATE"] + ["I-DATE"] * (len(date) - 1)
    return words, tags


def attributes(words, i):
    """What is known of a word and its neighbours."""
    word = words[i]
    return {
        "word": word.lower(),
        "capital": word[0].isupper(),
        "digits": len(word) if word.isdigit() else 0,
        "before": words[i - 1].lower() if i else "(start)",
        "after": words[i + 1].lower() if i + 1 < len(words) else "(end)",
    }


rng = random.Random(0)
sentences = [sentence(rng) for _ in range(300)]
X = [[attributes(words, i) for i in range(len(words))] for words, _ in sentences]
y = [tags for _, tags in sentences]

# %% Training: the field and its max-margin sibling
for estimator in (minorant.ChainCRF(C=1.0), minorant.ChainSVM(C=1.0)):
    model = estimator.fit(X[:200], y[:200])
    name = type(model).__name__
    print(f"{name}: {model.score(X[200:], y[200:]):.3f} of the tokens right")
    print(f"{name}: proven within {model.certificate_.relative_gap:.1e} of the best objective")

# %% Probabilities
crf = minorant.ChainCRF(C=1.0).fit(X[:200], y[:200])
words = "see you on 7 May or later".split()
tokens = [attributes(words, i) for i in range(len(words))]
tags, probabilities = crf.predict([tokens])[0], crf.predict_marginals([tokens])[0]
for word, tag, row in zip(words, tags, probabilities, strict=True):
    print(f"{word:6} {tag:7} {row.max():.3f}")
