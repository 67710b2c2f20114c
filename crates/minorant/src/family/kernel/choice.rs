//! The choice of a kernel: its options, the width that fits the data where none is given, and the
//! kernel matrix of a data set's rows.

use crate::family::{Settings, TrainError, refuse, setting_in_words};
use crate::kernel::{Gram, Kernel, Points};
use crate::options::Kind::{self, Number, Whole};
use crate::options::Need::Is;
use crate::options::Range::{NotNegative, Positive};
use crate::options::options;
use crate::risk::Cancel;
use crate::solver::StopRules;
use minorant_data::Dataset;
use std::time::Instant;

const KERNELS: Kind = Kind::Choice(&[
    ("linear", "x·y"),
    ("rbf", "exp(−‖x−y‖²/(2S²))"),
    ("poly", "(x·y + A)^P"),
    ("precomputed", "the data's rows are those of the kernel matrix"),
]);

options! {
    /// The kernel
    pub KERNEL: String = ("kernel", "K", KERNELS).default("rbf").probe("linear");
    /// rbf: the width S of exp(−‖x−y‖²/(2S²))
    pub SIGMA: Option<f64> = ("sigma", "S", Number(Positive))
        .otherwise("about a third of the data's spread").needs(&[Is("kernel", &["rbf"])])
        .probe("0.7");
    /// poly: the power P of (x·y + A)^P
    pub POWER: u32 = ("power", "P", Whole(1, 30))
        .default("3").needs(&[Is("kernel", &["poly"])]).probe_with("2", &["--kernel", "poly"]);
    /// poly: the offset A of (x·y + A)^P
    pub OFFSET: f64 = ("offset", "A", Number(NotNegative))
        .default("1").needs(&[Is("kernel", &["poly"])]).probe_with("0.5", &["--kernel", "poly"]);
}

/// Memory for the kernel matrix where the machine's is not known.
const USUAL_BYTES: u64 = 2 << 30;

/// The rows of a data set with the kernel that is taken of them.
pub(super) struct Rows<'d> {
    pub(super) kernel: Kernel,
    pub(super) points: Points<'d>,
    pub(super) features: usize,
    max_bytes: u64,
}

impl<'d> Rows<'d> {
    pub(super) fn new(data: &'d Dataset<'d>, settings: &Settings) -> Self {
        let sigma = settings.get(&SIGMA).or_else(|| Some(Kernel::usual_width(&data.features)));
        let (power, offset) = (settings.get(&POWER), settings.get(&OFFSET));
        let kernel = Kernel::named(&settings.get(&KERNEL), sigma, Some(power), Some(offset));
        Rows {
            kernel: kernel.unwrap_or_else(|| unreachable!("the option table knows the kernels")),
            points: Points::new(&data.features),
            features: data.features.cols(),
            max_bytes: settings.max_bytes().unwrap_or(USUAL_BYTES),
        }
    }

    /// The kernel matrix. Computing it is part of the run: the rules keep the seconds that are left.
    pub(super) fn gram(
        &self,
        rules: &mut StopRules,
        cancel: &Cancel,
    ) -> Result<Gram<'_>, TrainError> {
        let (begin, most) = (Instant::now(), rules.max_seconds);
        let left = || most.map(|most| most - begin.elapsed().as_secs_f64());
        let is_over = || cancel.is_cancelled() || left().is_some_and(|left| left <= 0.0);
        let gram = Gram::new_until(self.kernel, &self.points, self.max_bytes, &is_over);
        rules.max_seconds = left().map(|left| left.max(0.0));
        gram.or_else(refuse)
    }
}

/// Chooses a kernel that is known already.
pub(super) fn choose(kernel: Kernel, settings: &mut Settings) {
    settings.put(&KERNEL, kernel.name().into());
    match kernel {
        Kernel::Rbf { sigma } => settings.put(&SIGMA, Some(sigma)),
        Kernel::Poly { power, offset } => {
            settings.put(&POWER, power);
            settings.put(&OFFSET, offset);
        }
        Kernel::Linear | Kernel::Precomputed => {}
    }
}

/// The kernel and its settings.
pub(super) fn in_words(kernel: Kernel) -> String {
    match kernel {
        Kernel::Rbf { sigma } => format!("rbf kernel with sigma {}", setting_in_words(sigma)),
        Kernel::Poly { power, offset } => format!("kernel (x·y + {offset})^{power}"),
        Kernel::Linear => "linear kernel".into(),
        Kernel::Precomputed => "precomputed kernel".into(),
    }
}
