"""How an estimator declares its parameters: as attributes with their types and defaults, each in the
class that it belongs to. The constructor follows from these declarations, those of the bases included,
and keeps what it is given as it is, which is what scikit-learn asks of constructors.
"""

from dataclasses import dataclass, field
from functools import wraps
from inspect import get_annotations, isfunction, signature
from typing import TYPE_CHECKING, Any, Literal, Self, dataclass_transform

from ._docstrings import merged, of_method
from ._names import unknown

if TYPE_CHECKING:
    # scikit-learn has no types, and a constructor with bases of no type would take any argument.

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __getattr__(self, name: str) -> Any: ...

    class ClassifierMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    RegressorMixin = ClassifierMixin
else:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

__all__ = ["BaseEstimator", "ClassifierMixin", "Declared", "RegressorMixin", "fitted", "is_own"]


def fitted(*, init: Literal[False] = False) -> Any:
    """An attribute that is no parameter, for it is there once an estimator is fitted."""
    return field(init=init)


def is_own(cls):
    """Whether a class is one of the package's, not one that a user has derived."""
    return cls.__module__.partition(".")[0] == __package__


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field, fitted))
class Declared:
    """Gives each class of the package the constructor that its declarations ask for, and completes the
    docstrings of its methods. Users may write constructors of their own for what they derive."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if is_own(cls):
            dataclass(cls, kw_only=True, eq=False, repr=False)
            cls.__init__ = _with_known_names(cls)
            # A method that is there for some parameters only is wrapped.
            public = [method for name, method in vars(cls).items() if name[0] != "_"]
            methods = [getattr(method, "fn", method) for method in public]
            of_fit = cls.fit.__doc__ if hasattr(cls, "fit") else None
            for method in filter(isfunction, methods if of_fit else []):
                arguments = signature(method).parameters
                method.__doc__ = of_method(method.__doc__, arguments, of_fit)


def _with_known_names(cls):
    """The constructor, which refuses a parameter that it does not know in a sentence. Its signature
    begins with the parameters of the class itself; those of the bases come behind."""
    init = cls.__init__
    declared = merged(get_annotations(base) for base in cls.__mro__ if is_own(base))
    order = ["self", *declared]
    told = signature(init)
    parameters = sorted(told.parameters.values(), key=lambda p: (p.kind, order.index(p.name)))
    known = [parameter.name for parameter in parameters[1:]]

    @wraps(init)
    def checked(self, *args, **kwargs):
        for name in kwargs:
            if name not in known:
                raise TypeError(unknown(type(self).__name__, name, known))
        init(self, *args, **kwargs)

    checked.__signature__ = told.replace(parameters=parameters)
    return checked
