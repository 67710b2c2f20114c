"""scikit-learn's callbacks (its version 1.9 or later), one task for each iteration."""

from typing import TYPE_CHECKING, Any, Self, TypeVar

Method = TypeVar("Method")

if TYPE_CHECKING:

    class CallbackSupportMixin:
        def set_callbacks(self, *callbacks: Any) -> Self: ...

    def with_callbacks(method: Method) -> Method: ...

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Nothing: this scikit-learn has no callbacks."""

        def with_callbacks(method):
            """The method itself."""
            return method


class Callbacks:
    """What an estimator tells the callbacks that are set on it."""

    #: Whether there are any.
    are_set = False

    def __init__(self, estimator, X, y, sample_weight):
        begin = getattr(estimator, "_init_callback_context", None)
        self._context = None
        if begin is None:
            return
        self._context = begin(max_subtasks=None)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._about = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._context.call_on_fit_task_begin(**self._about)
        # A context of a meta-estimator may bring callbacks that are not set on this estimator.
        self.are_set = bool(getattr(estimator, "_skl_callbacks", None))

    def iteration(self, attributes):
        """Tells of an iteration; whether a callback wants to stop."""
        task = self._context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(**self._about)
        return task.call_on_fit_task_end(**self._about, reconstruction_attributes=attributes)

    def end(self):
        """Tells that the estimator is fitted."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._about, reconstruction_attributes=dict)
