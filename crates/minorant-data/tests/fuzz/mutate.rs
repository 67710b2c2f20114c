//! Damages files: bits, bytes, ranges, tokens.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

const LONGEST: usize = 16 << 10;

/// Bytes and numbers that readers are most likely to stumble over.
const TOKENS: &[&[u8]] = &[
    b" ",
    b"\t",
    b"\n",
    b"\r\n",
    b"\0",
    b":",
    b",",
    b";",
    b"#",
    b"?",
    b"{",
    b"}",
    b"'",
    b"\"",
    b"\\",
    b"%",
    b"0",
    b"1",
    b"-1",
    b"+1",
    b"1:1",
    b" 2:0.5",
    b"qid:1",
    b"1,2",
    b"nan",
    b"inf",
    b"1e400",
    b"1e-400",
    b"2147483647",
    b"2147483648",
    b"4294967296",
    b"18446744073709551616",
    b"99999999",
    b"0.1",
    b"1e300",
    b"label",
    b"class",
    b"@data\n",
    b"@attribute a numeric\n",
    b"{0,1}",
    b"@attribute b {0,1}\n",
    b"@relation r\n",
    b"{0 1}",
    b"<label name=\"b\"/>",
    b"<label ",
    b">",
    b"(1000000000, 2)",
    b"(2, 1000000000)",
    b"'<f8'",
    b"'|u1'",
    b"'<U4'",
    b"True",
    b"False",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x00",
    b"\x01\x00\x00\x00",
    b"\x7f\xff\xff\xff",
    b"\x00\x01\x00\x00",
    b"\x93NUMPY",
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"\x1f\x8b",
    b"BZh9",
    b"\x28\xb5\x2f\xfd",
    b"\xef\xbb\xbf",
    b"\xc3\xa9",
    b"\xe2",
    b"(1000000000, 0)",
    b"(0, 1000000000)",
    b"=",
    b"[",
    b"]",
    b"\\:",
    b"%x[0,0]",
    b"%x[-999,0]",
    b"__BOS__",
    b"[]",
    b"null",
    b"{}",
    b"\\u0000",
];

/// Numbers that sizes and positions are most likely to go wrong with.
const NUMBERS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"2",
    b"255",
    b"65536",
    b"2147483648",
    b"4294967295",
    b"4611686018427387904",
    b"9223372036854775807",
    b"9223372036854775808",
    b"18446744073709551615",
    b"1e19",
    b"1e308",
];

/// A few random damages to `file`; `other` gives pieces to splice in.
pub(crate) fn mutate(file: &mut Vec<u8>, other: &[u8], rng: &mut Pcg64Mcg) {
    for _ in 0..1 + below(rng, 5) {
        mutate_once(file, other, rng);
        file.truncate(LONGEST);
    }
}

fn below(rng: &mut Pcg64Mcg, limit: usize) -> usize {
    if limit == 0 { 0 } else { rng.random_range(0..limit) }
}

fn mutate_once(file: &mut Vec<u8>, other: &[u8], rng: &mut Pcg64Mcg) {
    let at = below(rng, file.len() + 1);
    let length = below(rng, file.len() - at + 1).min(1 + below(rng, 64));
    match below(rng, 14) {
        0 | 1 if at < file.len() => file[at] ^= 1 << below(rng, 8),
        2 if at < file.len() => file[at] = rng.random_range(0..=255),
        3..=5 => {
            let token = TOKENS[below(rng, TOKENS.len())];
            file.splice(at..at, token.iter().copied());
        }
        6 => {
            let token = TOKENS[below(rng, TOKENS.len())];
            let end = (at + token.len()).min(file.len());
            file.splice(at..end, token.iter().copied());
        }
        7 => {
            file.drain(at..at + length);
        }
        8 => {
            let copy = file[at..at + length].to_vec();
            let times = if below(rng, 20) == 0 { 100 } else { 1 + below(rng, 4) };
            for _ in 0..times {
                file.splice(at..at, copy.iter().copied());
            }
        }
        9 if below(rng, 4) == 0 => file.truncate(at),
        10 if !other.is_empty() => {
            let from = below(rng, other.len());
            let to = from + below(rng, other.len() - from + 1);
            file.splice(at..at, other[from..to].iter().copied());
        }
        11 | 12 => {
            // A whole number, the next one from here on.
            let digit = |from: usize| file[from..].iter().position(u8::is_ascii_digit);
            let Some(start) = digit(at).map(|start| at + start) else { return };
            let digits = file[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = NUMBERS[below(rng, NUMBERS.len())];
            file.splice(start..start + digits, number.iter().copied());
        }
        _ if at < file.len() && file[at].is_ascii_digit() => {
            file[at] = b'0' + below(rng, 10) as u8;
        }
        _ => {}
    }
}
