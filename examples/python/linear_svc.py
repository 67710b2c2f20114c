"""# A support vector machine with a proof

Handwritten digits, ten classes trained together. The fitted estimator says how far its objective
can be from the best one, and that is a proof, not an estimate.
"""

# %% Data that scikit-learn ships
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import minorant

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)

# %% Training
model = minorant.LinearSVC(C=1.0).fit(X_train, y_train)
print(f"accuracy on new digits: {model.score(X_test, y_test):.3f}")

# %% What is proven
certificate = model.certificate_
print(f"objective    {certificate.objective:.12f}")
print(f"lower bound  {certificate.lower_bound:.12f}")
print(f"no weights are better by more than {certificate.relative_gap:.1e} of the objective")

# %% How the gap closed
try:
    minorant.plot_convergence(model)
except ImportError as error:
    print(error)
