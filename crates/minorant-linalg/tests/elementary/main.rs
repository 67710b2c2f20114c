//! The elementary functions against a reference of 115 binary places, over the whole range of their
//! arguments; and that the same bits come from slices, from single calls, from machines without fused
//! multiply-addition and from those that wrote the digest down. MINORANT_ELEMENTARY is the number of
//! arguments of each function (a million unless given).

mod reference;

use minorant_linalg::elementary::{self, ERROR, ERROR_OF_COMPOSED, ERROR_OF_SINES, inlined};
use reference::{Reference, double, fixed, sines, times};

/// Numbers that look random and are the same everywhere (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An argument: of any bits, of a common size, near where functions are pieced together, or near an
    /// end of their range.
    fn argument(&mut self) -> f64 {
        let sign = if self.next() & 1 == 0 { 1.0 } else { -1.0 };
        let near = |x: f64, steps: u64| {
            f64::from_bits(x.to_bits().wrapping_add(steps % 64).wrapping_sub(32))
        };
        let size = match self.next() % 8 {
            0 | 1 => return f64::from_bits(self.next()),
            2 => 750.0 * self.unit(),
            3 => 40.0 * self.unit(),
            4 => 2.0 * self.unit(),
            5 => self.unit() * 2f64.powi(-((self.next() % 70) as i32)),
            6 => near((self.next() % 2200) as f64 * 0.5 * std::f64::consts::LN_2, self.next()),
            _ => {
                let ends = [0.5f64.sqrt(), 1.0, 2f64.sqrt(), 2.0, 0.5, 30.0, 709.782712893384];
                let more =
                    [708.3964185322641, 745.1332191019411, 2f64.powi(-54), f64::MIN_POSITIVE];
                let all = ends.len() + more.len();
                let at = (self.next() % all as u64) as usize;
                near(*ends.iter().chain(&more).nth(at).unwrap(), self.next())
            }
        };
        sign * size
    }
}

fn count() -> usize {
    let given = std::env::var("MINORANT_ELEMENTARY").ok();
    given.map_or(1_000_000, |count| count.parse().expect("MINORANT_ELEMENTARY is a number"))
}

/// Arguments of a function that are numbers within its domain.
fn arguments(seed: u64, domain: impl Fn(f64) -> bool) -> impl Iterator<Item = f64> {
    let mut numbers = Numbers(seed);
    std::iter::repeat_with(move || numbers.argument()).filter(move |x| domain(*x)).take(count())
}

fn check(
    name: &str,
    stated: f64,
    arguments: impl Iterator<Item = f64>,
    of: impl Fn(f64) -> f64,
    error: impl Fn(f64, f64) -> f64,
) {
    let mut worst = (0.0, 0.0);
    for x in arguments {
        let y = of(x);
        let error = error(x, y).abs();
        assert!(error <= stated, "{name}({x:?}) = {y:?} is off by a relative {error:e}");
        if error > worst.0 {
            worst = (error, x);
        }
    }
    println!("{name}: at most {:e}, at {:?}", worst.0, worst.1);
}

#[test]
fn the_reference_agrees_with_tables() {
    let reference = Reference::new();
    for (x, n, table) in [
        (1.0, 1, 0xadf85458a2bb4a9aafdc5620273d4),
        (-0.3, 0, 0x5ed321a70df013ef58cfc6d0f2684),
        (0.25, 0, 0xa45af1e1f40c333b3de1db4dd55f3),
        (100.0, 144, 0x9a4a54d8b8dfa5661128499912143),
        (-700.0, -1010, 0x8a79587dc983f855e586959f79e6c),
    ] {
        let (e, power) = reference.exp(x);
        assert_eq!(power, n, "{x}");
        assert!((e - table).abs() < 1 << 12, "e^{x}: {:x}", e);
    }
}

#[test]
fn exponentials_are_off_by_less_than_stated() {
    let reference = Reference::new();
    let error = |x: f64, y: f64| reference.error_of_exp(x, y);
    check("exp", ERROR, arguments(1, |x| !x.is_nan()), elementary::exp, error);
}

#[test]
fn logarithms_are_off_by_less_than_stated() {
    let reference = Reference::new();
    let positive = |x: f64| x > 0.0 && x.is_finite();
    let error = |x: f64, y: f64| reference.error_of_ln(0.0, x, y);
    check("ln", ERROR, arguments(2, positive), elementary::ln, error);
    let error = |x: f64, y: f64| reference.error_of_ln(1.0, x, y);
    let above = |x: f64| x > -1.0 && x.is_finite();
    check("ln_1p", ERROR, arguments(3, above), elementary::ln_1p, error);
}

#[test]
fn composed_functions_are_off_by_less_than_stated() {
    let reference = Reference::new();
    let number = |x: f64| !x.is_nan();
    let finite = |x: f64| x.is_finite();
    let (sigmoid, softplus) = (elementary::sigmoid, elementary::softplus);
    let error = |x: f64, y: f64| reference.error_of_sigmoid(x, y);
    check("sigmoid", ERROR_OF_COMPOSED, arguments(4, number), sigmoid, error);
    let error = |x: f64, y: f64| reference.error_of_softplus(x, y);
    check("softplus", ERROR_OF_COMPOSED, arguments(5, finite), softplus, error);
    let error = |x: f64, y: f64| reference.error_of_tanh(x, y);
    check("tanh", ERROR_OF_COMPOSED, arguments(6, number), elementary::tanh, error);
}

#[test]
fn the_other_functions_are_off_by_less_than_stated() {
    let mut numbers = Numbers(7);
    for _ in 0..count() / 10 {
        // x = π/2 · n + r: the sines of small angles by their series, in fixed-point numbers.
        let x = (numbers.unit() - 0.5) * 2f64.powi((numbers.next() % 22) as i32);
        let (sine, cosine) = elementary::sin_cos(x);
        let (exact_sine, exact_cosine) = sines(x);
        let error = double(fixed(sine, 0) - exact_sine).abs();
        let error = error.max(double(fixed(cosine, 0) - exact_cosine).abs());
        assert!(error <= ERROR_OF_SINES, "sin_cos({x:?}) is off by {error:e}");
        // A hypotenuse by its square, which has no more than 106 digits.
        let (a, b) = (numbers.unit(), numbers.unit() * numbers.unit());
        let long = elementary::hypot(a, b);
        let square = |x: f64| times(fixed(x, 0), fixed(x, 0));
        let error = double(square(long) - square(a) - square(b)) / (2.0 * long * long);
        assert!(error.abs() <= ERROR, "hypot({a:?}, {b:?}) is off by a relative {error:e}");
        for scale in [2f64.powi(-1000), 2f64.powi(1000)] {
            assert_eq!(elementary::hypot(scale * a, -scale * b), scale * long);
        }
    }
    for (base, count, product) in
        [(3.0, 0, 1.0), (3.0, 1, 3.0), (-3.0, 5, -243.0), (2.0, 1023, 2f64.powi(1023))]
    {
        assert_eq!(elementary::repeated(base, count), product);
    }
    for (base, exponent, power) in [(2.0, 10.0, 1024.0), (100.0, -1.5, 1e-3), (7.0, 0.0, 1.0)] {
        let distance = (elementary::power(base, exponent) - power).abs();
        assert!(distance <= 16.0 * ERROR * power, "{base}^{exponent}");
    }
}

#[test]
fn special_values_are_those_of_the_definition() {
    let (inf, nan, least) = (f64::INFINITY, f64::NAN, f64::from_bits(1));
    type Function = fn(f64) -> f64;
    let table: [(Function, &[(f64, f64)]); 6] = [
        (
            elementary::exp,
            &[
                (0.0, 1.0),
                (-0.0, 1.0),
                (inf, inf),
                (-inf, 0.0),
                (710.0, inf),
                (f64::MAX, inf),
                (-746.0, 0.0),
                (-745.2, 0.0),
                (-745.1, least),
                (least, 1.0),
                (-1e-300, 1.0),
                (f64::MIN, 0.0),
            ],
        ),
        (
            elementary::ln,
            &[
                (1.0, 0.0),
                (0.0, -inf),
                (-0.0, -inf),
                (inf, inf),
                (-1.0, nan),
                (-inf, nan),
                (-least, nan),
                (least, -744.4400719213812),
                (f64::MAX, 709.782712893384),
            ],
        ),
        (
            elementary::ln_1p,
            &[
                (0.0, 0.0),
                (-0.0, -0.0),
                (-1.0, -inf),
                (inf, inf),
                (-1.0 - f64::EPSILON, nan),
                (-inf, nan),
                (least, least),
                (-least, -least),
                (f64::MIN_POSITIVE, f64::MIN_POSITIVE),
                (f64::MAX, 709.782712893384),
            ],
        ),
        (elementary::sigmoid, &[(0.0, 0.5), (inf, 1.0), (-inf, 0.0), (-746.0, 0.0), (746.0, 1.0)]),
        (elementary::softplus, &[(inf, inf), (-inf, 0.0), (f64::MAX, f64::MAX), (f64::MIN, 0.0)]),
        (
            elementary::tanh,
            &[(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (least, least), (400.0, 1.0)],
        ),
    ];
    for (number, (function, values)) in table.into_iter().enumerate() {
        assert!(function(nan).is_nan(), "function {number} of not-a-number");
        for &(x, y) in values {
            let found = function(x);
            let same = found.to_bits() == y.to_bits() || found.is_nan() && y.is_nan();
            assert!(same, "function {number} of {x:?} is {found:?}");
        }
    }
}

#[test]
fn what_is_bounded_stays_within_its_bounds() {
    for x in arguments(8, |x| !x.is_nan()) {
        assert!((0.0..=1.0).contains(&elementary::exp(-x.abs())), "e^-{x:?}");
        assert!((0.0..=1.0).contains(&elementary::sigmoid(x)), "{x:?}");
        assert!(elementary::tanh(x).abs() <= 1.0 && elementary::softplus(x) >= 0.0, "{x:?}");
        let share = 1.0 / (1.0 + x.abs());
        assert!(elementary::ln(share) <= 0.0 && elementary::ln(1.0 / share) >= 0.0, "{share:?}");
        assert!(elementary::ln_1p(-share) < 0.0 && elementary::ln_1p(share) >= 0.0, "{share:?}");
    }
}

/// Slices, single calls, and code for machines of which nothing is known (whose fused
/// multiply-additions are made of other instructions) give the same bits; and they are those that were
/// found where the digest was written down.
#[test]
fn the_same_bits_come_from_everywhere() {
    /// One by one, all of a slice, and without any choice of instructions.
    type Ways = (&'static str, fn(f64) -> f64, fn(&mut [f64]), fn(f64) -> f64);
    let ways: [Ways; 6] = [
        ("exp", elementary::exp, elementary::exp_all, inlined::exp),
        ("ln", elementary::ln, elementary::ln_all, inlined::ln),
        ("ln_1p", elementary::ln_1p, elementary::ln_1p_all, inlined::ln_1p),
        ("sigmoid", elementary::sigmoid, elementary::sigmoid_all, inlined::sigmoid),
        ("softplus", elementary::softplus, elementary::softplus_all, inlined::softplus),
        ("tanh", elementary::tanh, elementary::tanh_all, inlined::tanh),
    ];
    let mut numbers = Numbers(9);
    // No whole number of vectors, so that what is left over is tried as well.
    let x: Vec<f64> = (0..100_003).map(|_| numbers.argument()).collect();
    let bits = |y: f64| if y.is_nan() { 0 } else { y.to_bits() };
    let digests = ways.map(|(name, one, slice, plain)| {
        let mut found = x.clone();
        slice(&mut found);
        x.iter().zip(found).fold(0u64, |digest, (x, y)| {
            assert_eq!(bits(one(*x)), bits(y), "{name}({x:?})");
            assert_eq!(bits(plain(*x)), bits(y), "{name}({x:?})");
            digest.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ bits(y)
        })
    });
    let written_down = [
        16411801988230981613,
        2736825977009386270,
        2704039470827309905,
        4539097961985171843,
        12452162225470205901,
        6570593414685082841,
    ];
    assert_eq!(digests, written_down);
}
