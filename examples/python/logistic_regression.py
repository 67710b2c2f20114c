"""# Probabilities for iris flowers

Softmax regression in a pipeline, tuned by cross-validation.
"""

# %% Data
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minorant

iris = load_iris()
X, y = iris.data, iris.target_names[iris.target]

# %% scikit-learn's tools work as usual
pipeline = make_pipeline(StandardScaler(), minorant.LogisticRegression())
search = GridSearchCV(pipeline, {"logisticregression__C": [0.1, 1.0, 10.0]}).fit(X, y)
model = search.best_estimator_
print(f"best C: {search.best_params_['logisticregression__C']}, accuracy {search.best_score_:.3f}")

# %% Probabilities of the classes
for row in (0, 70, 140):
    probabilities = model.predict_proba(X[row : row + 1])[0]
    named = zip(model.classes_, probabilities, strict=True)
    print(y[row], {str(name): round(float(p), 3) for name, p in named})
