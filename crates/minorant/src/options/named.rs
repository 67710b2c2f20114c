//! Values that users choose by a name: one list of names for the command line, model files, Python
//! and Rust.

/// A value that has a name.
pub trait Named: Copy + 'static {
    /// The names that users choose from, with what they mean.
    const CHOICES: &'static [(&'static str, &'static str)];

    /// All values in order.
    fn all() -> &'static [Self];

    /// The name that users type.
    fn name(self) -> &'static str;

    /// The value with this name.
    fn named(name: &str) -> Option<Self> {
        Self::all().iter().copied().find(|value| value.name() == name)
    }
}

/// Names for the values of an enumeration that is declared elsewhere, with the meaning of those that
/// users choose from.
macro_rules! named {
    ($type:ty { $($value:ident = $name:literal $($meaning:literal)?),+ $(,)? }) => {
        impl $crate::options::Named for $type {
            const CHOICES: &'static [(&'static str, &'static str)] =
                &[$($(($name, $meaning),)?)+];

            fn all() -> &'static [Self] {
                &[$(<$type>::$value),+]
            }

            fn name(self) -> &'static str {
                match self {
                    $(<$type>::$value => $name),+
                }
            }
        }
    };
}
pub(crate) use named;
