//! The data sets of the benchmarks, in the forms that they are run in: as the files give them, with
//! the customary scalings (pixels / 255, tf-idf) and in the storage that a benchmark asks for. Real
//! data lies in the folder named by `MINORANT_DATA`, or beside the project; nothing is downloaded.

use crate::targets::{self, TargetLoss};
use anyhow::{Context, Result, bail};
use minorant::risk::hinge::Hinge;
use minorant::risk::logistic::Logistic;
use minorant::risk::multiclass_hinge::{MulticlassHinge, uniform_margins};
use minorant::risk::multilabel_hinge::MultilabelHinge;
use minorant::risk::softmax::Softmax;
use minorant::risk::squared_hinge::SquaredHinge;
use minorant::risk::{ExampleWeights, LinearRisk, Risk};
use minorant_data::{Dataset, LabelRows, ReadOptions, read};
use minorant_linalg::{Design, Matrix, Storage};
use std::path::PathBuf;

/// Where the data sets lie.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) root: PathBuf,
}

/// What is to be learned.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// +1 or −1.
    Signs(Vec<f64>),
    /// One of several classes.
    Classes { classes: usize, labels: Vec<u32> },
    /// A set of classes; `member[i * classes + z]`.
    Sets { classes: usize, member: Vec<bool> },
    /// Numbers to be met; see `targets.rs`.
    Numbers(Vec<f64>),
}

/// The losses of the benchmarks; each is joint over the classes where there are more than two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LossKind {
    Hinge,
    SquaredHinge,
    Logistic,
    /// A loss of targets.
    Target(TargetLoss),
}

/// Dense rows or sparse ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Dense,
    Sparse,
}

/// A data set, ready to be learned from.
#[derive(Debug, Clone)]
pub(crate) struct Set {
    pub(crate) matrix: Matrix<'static>,
    pub(crate) target: Target,
}

impl Store {
    /// The folder named by `MINORANT_DATA`, else the one beside the project; nothing if absent.
    pub(crate) fn find() -> Option<Store> {
        let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
        let root = std::env::var_os("MINORANT_DATA").map_or_else(beside, PathBuf::from);
        root.is_dir().then_some(Store { root })
    }

    /// A file of a data set.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn read(&self, files: &[&str]) -> Result<Dataset<'static>> {
        let paths: Vec<PathBuf> = files.iter().map(|file| self.root.join(file)).collect();
        read(&paths, &ReadOptions::default()).with_context(|| format!("data set {}", files[0]))
    }

    /// A set by its name in the tables.
    pub(crate) fn load(&self, name: &str) -> Result<Set> {
        match name {
            "a9a" => self.binary("adult/a9a.gz"),
            "w8a" => self.binary("w8a/w8a.gz"),
            "leukemia" => self.binary("leukemia/leu.gz"),
            "pcmac" | "basehock" | "relathe" => {
                self.binary(&format!("news20_pairs/{name}.libsvm.gz"))
            }
            "covtype" => self.covtype(),
            "satimage" => self.classes("satimage/sat.trn.gz")?.scaled(),
            "letter" => self.classes("letter/letter.scale.gz"),
            "usps" => self.classes("usps/usps.gz"),
            "scene" => self.sets("scene", "scene"),
            "yeast" => self.sets("yeast", "yeast"),
            "tmc2007" => self.sets("tmc2007", "tmc2007-500"),
            "MNIST even/odd" => self.mnist_even_odd(Form::Sparse, Storage::F64),
            "MNIST" => self.mnist(Form::Sparse, Storage::F64),
            "news20" => self.news20(Storage::F64),
            "dense 400 000 x 100" => made_up_dense(400_000, 100),
            "sparse 200 000 x 300 000" => made_up_sparse(200_000, 300_000),
            _ if targets::SETS.contains(&name) => targets::load(self, name),
            _ => bail!("there is no benchmark set '{name}'"),
        }
    }

    fn binary(&self, file: &str) -> Result<Set> {
        let data = self.read(&[file])?;
        let signs = |labels: Vec<u32>| labels.iter().map(|&z| f64::from(z) * 2.0 - 1.0).collect();
        Ok(Set { target: Target::Signs(signs(single(data.labels.rows)?)), matrix: data.features })
    }

    fn classes(&self, file: &str) -> Result<Set> {
        let data = self.read(&[file])?;
        let (classes, labels) = (data.labels.classes.len(), single(data.labels.rows)?);
        Ok(Set { target: Target::Classes { classes, labels }, matrix: data.features })
    }

    /// Cover type 2 against the rest.
    fn covtype(&self) -> Result<Set> {
        let set = self.classes("covtype_sample/covtype-sample-20000.data.gz")?;
        let Target::Classes { labels, .. } = &set.target else { bail!("expected one label a row") };
        let signs = labels.iter().map(|&z| if z == 1 { 1.0 } else { -1.0 }).collect();
        Set { target: Target::Signs(signs), matrix: set.matrix }.scaled()
    }

    fn sets(&self, folder: &str, name: &str) -> Result<Set> {
        let file = |end: &str| format!("multilabel/{folder}/{name}{end}");
        let data = self.read(&[&file("-train.arff.gz"), &file(".xml")])?;
        let classes = data.labels.classes.len();
        let mut member = vec![false; classes * data.labels.len()];
        for i in 0..data.labels.len() {
            for &z in data.labels.row(i) {
                member[i * classes + z as usize] = true;
            }
        }
        Ok(Set { target: Target::Sets { classes, member }, matrix: data.features })
    }

    /// MNIST's digits as the files have them: `train` or `t10k`.
    pub(crate) fn digits(&self, name: &str) -> Result<Dataset<'static>> {
        let file = |what: &str| format!("mnist/{name}-{what}-ubyte.gz");
        self.read(&[&file("images-idx3"), &file("labels-idx1")])
    }

    /// MNIST's ten digits, pixels / 255.
    pub(crate) fn mnist(&self, form: Form, storage: Storage) -> Result<Set> {
        self.mnist_rows("train", form, storage)
    }

    /// The training rows of MNIST (`train`) or its test rows (`t10k`).
    pub(crate) fn mnist_rows(&self, name: &str, form: Form, storage: Storage) -> Result<Set> {
        let data = self.digits(name)?;
        let (rows, cols) = (data.features.rows(), data.features.cols());
        let pixels = data.features.values();
        let scaled = (0..pixels.len()).map(|at| pixels.get(at) / 255.0).collect();
        let dense = Matrix::dense(rows, cols, storage.store(scaled))?;
        let matrix = if form == Form::Dense { dense } else { dense.with_cols(cols).0 };
        let labels = single(data.labels.rows)?;
        Ok(Set { matrix, target: Target::Classes { classes: 10, labels } })
    }

    /// MNIST's odd digits against the even ones.
    pub(crate) fn mnist_even_odd(&self, form: Form, storage: Storage) -> Result<Set> {
        let set = self.mnist(form, storage)?;
        let Target::Classes { labels, .. } = set.target else { bail!("expected one label a row") };
        let signs = labels.iter().map(|z| f64::from(z % 2) * 2.0 - 1.0).collect();
        Ok(Set { matrix: set.matrix, target: Target::Signs(signs) })
    }

    /// 20 Newsgroups: (1 + ln tf) · ln(n / df), rows of length 1, classes 11–20 against 1–10.
    pub(crate) fn news20(&self, storage: Storage) -> Result<Set> {
        let data = self.read(&["news20/news20.bydate.counts.gz"])?;
        let counts = &data.features;
        let mut documents = vec![0u32; counts.cols()];
        for i in 0..counts.rows() {
            counts.row(i).filter(|e| e.1 > 0.0).for_each(|(j, _)| documents[j] += 1);
        }
        let rows = counts.rows() as f64;
        let (mut starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for i in 0..counts.rows() {
            let first = values.len();
            for (j, count) in counts.row(i).filter(|e| e.1 > 0.0) {
                columns.push(j as u32);
                values.push((1.0 + count.ln()) * (rows / f64::from(documents[j])).ln());
            }
            let length = values[first..].iter().map(|x: &f64| x * x).sum::<f64>().sqrt();
            values[first..].iter_mut().for_each(|x| *x /= length.max(f64::MIN_POSITIVE));
            starts.push(values.len() as u64);
        }
        let matrix = Matrix::csr(counts.cols(), starts, columns, storage.store(values))?;
        let signs =
            single(data.labels.rows)?.iter().map(|&z| if z < 10 { -1.0 } else { 1.0 }).collect();
        Ok(Set { matrix, target: Target::Signs(signs) })
    }
}

/// Numbers of a fixed sequence (SplitMix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// Uniform between 0 and 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Nearly normal: the sum of a few uniform ones.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// Dense rows of f32 with nearly normal entries, labelled by a plane and noise.
pub(crate) fn made_up_dense(rows: usize, cols: usize) -> Result<Set> {
    let mut numbers = Numbers(1);
    let plane: Vec<f64> = (0..cols).map(|_| numbers.normal() / (cols as f64).sqrt()).collect();
    let (mut values, mut signs) = (Vec::with_capacity(rows * cols), Vec::with_capacity(rows));
    for _ in 0..rows {
        let mut f = 0.5 * numbers.normal();
        for weight in &plane {
            // Sums of four are enough here, and take less time than the races.
            let x = (numbers.uniform() + numbers.uniform() + numbers.uniform() + numbers.uniform()
                - 2.0) as f32;
            f += weight * f64::from(x);
            values.push(f64::from(x));
        }
        signs.push(if f > 0.0 { 1.0 } else { -1.0 });
    }
    let matrix = Matrix::dense(rows, cols, Storage::F32.store(values))?;
    Ok(Set { matrix, target: Target::Signs(signs) })
}

/// Sparse rows of length 1 as of texts: few columns are frequent, most are rare.
fn made_up_sparse(rows: usize, cols: usize) -> Result<Set> {
    const WORDS: usize = 60;
    let mut numbers = Numbers(2);
    let plane: Vec<f64> = (0..cols).map(|_| numbers.normal()).collect();
    let (mut starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    let mut signs = Vec::with_capacity(rows);
    for _ in 0..rows {
        let word = |numbers: &mut Numbers| {
            ((cols as f64).powf(numbers.uniform()) as usize - 1).min(cols - 1) as u32
        };
        let mut words: Vec<u32> = (0..WORDS).map(|_| word(&mut numbers)).collect();
        words.sort_unstable();
        words.dedup();
        // Rare words weigh more.
        let weights: Vec<f64> = words.iter().map(|&j| (2.0 + f64::from(j)).ln()).collect();
        let length = weights.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut f = 0.2 * numbers.normal();
        for (&j, x) in words.iter().zip(weights) {
            f += plane[j as usize] * x / length;
            columns.push(j);
            values.push(x / length);
        }
        starts.push(values.len() as u64);
        signs.push(if f > 0.0 { 1.0 } else { -1.0 });
    }
    let matrix = Matrix::csr(cols, starts, columns, Storage::F64.store(values))?;
    Ok(Set { matrix, target: Target::Signs(signs) })
}

/// The rows of a set over and over, so that they no longer fit into the processor's caches.
pub(crate) fn repeated(set: &Set, times: usize) -> Result<Set> {
    let rows = set.matrix.rows();
    let order: Vec<usize> = (0..times * rows).map(|i| i % rows).collect();
    let Target::Signs(signs) = &set.target else { bail!("only binary sets are repeated") };
    let target = Target::Signs(order.iter().map(|&i| signs[i]).collect());
    Ok(Set { matrix: set.matrix.select_rows(&order), target })
}

fn single(rows: LabelRows) -> Result<Vec<u32>> {
    match rows {
        LabelRows::Single(labels) => Ok(labels),
        _ => bail!("expected one label a row"),
    }
}

impl Set {
    /// The same with every column divided by its largest magnitude.
    pub(crate) fn scaled(self) -> Result<Set> {
        let (rows, cols) = (self.matrix.rows(), self.matrix.cols());
        let mut largest = vec![0.0f64; cols];
        let (mut starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for i in 0..rows {
            self.matrix.row(i).for_each(|(j, x)| largest[j] = largest[j].max(x.abs()));
        }
        for i in 0..rows {
            for (j, x) in self.matrix.row(i).filter(|e| e.1 != 0.0) {
                columns.push(j as u32);
                values.push(x / largest[j]);
            }
            starts.push(values.len() as u64);
        }
        let matrix = Matrix::csr(cols, starts, columns, Storage::F64.store(values))?;
        Ok(Set { matrix, target: self.target })
    }

    /// The mean loss over the set.
    pub(crate) fn risk(&self, loss: LossKind) -> Result<Box<dyn Risk + '_>> {
        let design = Design::new(&self.matrix, None);
        let mean = ExampleWeights::mean(self.matrix.rows());
        Ok(match (&self.target, loss) {
            (Target::Signs(signs), LossKind::Hinge) => {
                Box::new(LinearRisk::new(design, Hinge::new(signs.clone()), mean))
            }
            (Target::Signs(signs), LossKind::SquaredHinge) => {
                Box::new(LinearRisk::new(design, SquaredHinge::new(signs.clone()), mean))
            }
            (Target::Signs(signs), LossKind::Logistic) => {
                Box::new(LinearRisk::new(design, Logistic::new(signs.clone()), mean))
            }
            (Target::Classes { classes, labels }, LossKind::Hinge) => {
                let margins = uniform_margins(*classes);
                let loss = MulticlassHinge::new(*classes, labels.clone(), margins);
                Box::new(LinearRisk::new(design, loss, mean))
            }
            (Target::Classes { classes, labels }, LossKind::Logistic) => {
                Box::new(LinearRisk::new(design, Softmax::new(*classes, labels.clone()), mean))
            }
            (Target::Sets { classes, member }, LossKind::Hinge) => {
                let loss = MultilabelHinge::new(*classes, member.clone(), None);
                Box::new(LinearRisk::new(design, loss, mean))
            }
            (Target::Numbers(targets), LossKind::Target(loss)) => {
                targets::risk(design, targets, loss)
            }
            _ => bail!("this set has no such loss"),
        })
    }
}
