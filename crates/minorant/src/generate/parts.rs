//! Images of something like a face: a few parts that stand out of noise, each near its place in the
//! whole.

use super::Lcg;
use minorant_data::{PartsImage, TreeShape};

/// The shape of [`parts`]: four parts on a grid of 5 by 5 places with three channels.
pub fn parts_shape() -> TreeShape {
    TreeShape { width: 5, height: 5, channels: 3, parents: vec![0, 0, 2], scale: 4.0 }
}

/// Images in which the parts of a face-like object stand out of noise.
pub fn parts(seed: u64, images: usize) -> Vec<PartsImage> {
    // Where each part stands, seen from the first one, which is the middle of the face.
    const OFFSETS: [(i64, i64); 4] = [(0, 0), (-1, -1), (1, -1), (1, 1)];
    let mut rng = Lcg::new(seed);
    let image = |rng: &mut Lcg| {
        let (cx, cy) = (1 + rng.below(3) as i64, 1 + rng.below(3) as i64);
        let mut places = Vec::new();
        for (part, (ox, oy)) in OFFSETS.into_iter().enumerate() {
            let (jx, jy) = (rng.below(3) as i64 - 1, rng.below(3) as i64 - 1);
            // The others are a place off at random; the middle is at random already.
            let (jx, jy) = if part == 0 { (0, 0) } else { (jx, jy) };
            let (x, y) = ((cx + ox + jx).clamp(0, 4), (cy + oy + jy).clamp(0, 4));
            places.push((x * 5 + y) as u32);
        }
        let mut pixels: Vec<f64> = (0..5 * 5 * 3).map(|_| rng.signed()).collect();
        for (part, &place) in places.iter().enumerate() {
            pixels[place as usize * 3 + part % 3] += 1.0;
        }
        PartsImage { pixels, places: places.into() }
    };
    (0..images).map(|_| image(&mut rng)).collect()
}
