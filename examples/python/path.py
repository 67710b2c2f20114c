"""# A whole range of regularisation at once

The path trains for many λ, each from where the last one ended, and proves how good its models are
for every λ in between.
"""

# %% Data
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import minorant

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)

# %% From strong to weak regularisation
path = minorant.LinearSVC().path(
    X_train, y_train, [1.0, 0.1, 0.01, 0.001], validation=(X_test, y_test)
)
print(f"{len(path)} points for {path.n_evaluations} passes over the data")
for lam, error, certificate in zip(
    path.lams, path.validation_errors, path.certificates, strict=True
):
    print(f"lambda {lam:8.5f}  error {error:.3f}  gap {certificate.relative_gap:.1e}")

# %% What is proven in between
worst = max(between.relative_gap for between in path.between)
print(f"at every lambda from 1 to 0.001 a model of the path is within {worst:.1e} of the best")
print(f"best on new data: lambda {path.best.lam_:.5f}")

# %% A picture
try:
    minorant.plot_path(path)
except ImportError as error:
    print(error)
