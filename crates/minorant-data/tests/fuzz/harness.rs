//! The fuzzer, for readers of all crates: seeds are damaged, packed and read. No reader may panic,
//! and none may ask for more memory than 1 MiB and a multiple of the input. The same inputs in each
//! run; `MINORANT_FUZZ` is the number of them for each reader.
#![allow(clippy::print_stderr)]

use crate::counting::{self, Counting};
use crate::mutate::mutate;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::fmt::{Debug, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

pub(crate) const MIB: usize = 1 << 20;

/// Inputs that each reader is given unless `MINORANT_FUZZ` says otherwise.
const SAMPLE: usize = 20_000;

fn runs() -> usize {
    std::env::var("MINORANT_FUZZ").ok().and_then(|runs| runs.parse().ok()).unwrap_or(SAMPLE)
}

/// One input: files with their names.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// The same, as readers take them.
pub(crate) type Borrowed<'f> = [(&'f str, &'f [u8])];

pub(crate) fn files(list: &[(&str, &[u8])]) -> Files {
    list.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect()
}

pub(crate) fn borrowed(files: &Files) -> Vec<(&str, &[u8])> {
    files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect()
}

/// The memory that a format needs: how many times the input, what decoders take besides, and how
/// long an input really is.
pub(crate) struct Allowance {
    pub(crate) times: usize,
    pub(crate) extra: usize,
    pub(crate) expanded: fn(&[u8]) -> usize,
}

pub(crate) const PLAIN: Allowance = Allowance { times: 20, extra: 0, expanded: <[u8]>::len };

/// Packs the files after the damage, and damages the packed ones too where it is given random
/// numbers.
pub(crate) type Seal<'s> = &'s dyn Fn(Files, Option<&mut Pcg64Mcg>) -> Files;

/// Something that reads files, with random options where it is given random numbers.
pub(crate) struct Reader<'r, O, R> {
    pub(crate) name: &'r str,
    pub(crate) allowance: &'r Allowance,
    pub(crate) seal: Seal<'r>,
    pub(crate) options: &'r dyn Fn(Option<&mut Pcg64Mcg>) -> O,
    pub(crate) read: R,
}

impl<O: Debug, E: Display, R: Fn(&Borrowed<'_>, &O) -> Result<(), E>> Reader<'_, O, R> {
    /// Gives the reader damaged copies of `seeds`, which it must accept undamaged.
    pub(crate) fn fuzz(&self, seeds: &[Files]) {
        let seed = self.name.bytes().fold(7u128, |seed, byte| seed * 31 + u128::from(byte));
        let mut rng = Pcg64Mcg::new(seed);
        for seed in seeds {
            let input = (self.seal)(seed.clone(), None);
            if let Err(why) = (self.read)(&borrowed(&input), &(self.options)(None)) {
                panic!("{}: an undamaged seed is refused: {why}", self.name);
            }
        }
        for run in 0..runs() {
            let mut input = seeds[rng.random_range(0..seeds.len())].clone();
            let other = &seeds[rng.random_range(0..seeds.len())];
            let which = rng.random_range(0..input.len());
            let splice = &other[rng.random_range(0..other.len())].1;
            mutate(&mut input[which].1, splice, &mut rng);
            let input = (self.seal)(input, Some(&mut rng));
            let options = (self.options)(Some(&mut rng));
            self.check(&input, &options, run);
        }
    }

    /// Reads the input and checks what was promised.
    fn check(&self, input: &Files, options: &O, run: usize) {
        let files = borrowed(input);
        let work = || {
            // The parts that a reader makes always fit together.
            if let Err(why) = (self.read)(&files, options) {
                let why = why.to_string();
                assert!(!why.contains("a feature matrix"), "{why}");
            }
        };
        let (result, peak) = counting::peak_of(|| catch_unwind(AssertUnwindSafe(work)));
        let allowance = self.allowance;
        // Decompressing once more is slow, and needed for very few inputs only.
        let size: usize = input.iter().map(|(_, bytes)| bytes.len()).sum();
        if result.is_ok() && peak <= MIB + allowance.times * size {
            return;
        }
        let size: usize = input.iter().map(|(_, bytes)| (allowance.expanded)(bytes)).sum();
        let allowed = MIB + allowance.times * size + allowance.extra;
        if result.is_err() || peak > allowed {
            for (name, bytes) in input {
                eprintln!("{name}: {}", bytes.escape_ascii());
            }
            let name = self.name;
            panic!("{name} run {run}: {peak} bytes at most (allowed {allowed}), {options:?}");
        }
    }
}

/// An archive of the files, which is damaged itself now and then.
pub(crate) fn archive(
    input: Files,
    rng: Option<&mut Pcg64Mcg>,
    pack: impl Fn(&Borrowed<'_>) -> Vec<u8>,
) -> Files {
    let mut archive = pack(&borrowed(&input));
    if let Some(rng) = rng
        && rng.random_range(0..3) == 0
    {
        mutate(&mut archive, &[], rng);
    }
    files(&[("a.npz", &archive)])
}
