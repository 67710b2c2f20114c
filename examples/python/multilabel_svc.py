"""# Several labels at once

Documents with sets of topics, generated. The example ends with a model file that the command
`minorant` reads too.
"""

# %% Data
import tempfile
from pathlib import Path

from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import hamming_loss

import minorant

X, Y = make_multilabel_classification(600, n_features=40, n_classes=6, random_state=0)

# %% Training on the first 400 documents
model = minorant.MultilabelSVC(C=0.1).fit(X[:400], Y[:400])
print(f"Hamming loss on the others: {hamming_loss(Y[400:], model.predict(X[400:])):.3f}")
print(f"certified: {model.certificate_.certified}")

# %% A file for the command: minorant predict model.minorant documents.svm
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.minorant"
    model.save(path)
    same = minorant.load(path)
    print(f"the loaded model agrees: {(same.predict(X) == model.predict(X)).all()}")
