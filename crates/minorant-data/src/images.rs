//! Data sets of images with structured outputs, as `segment-svm` and `tree-svm` train on them: NPZ
//! archives in, and out for the generators. No model and no mathematics here.
//!
//! Plates: `pixels` (columns of all images x rows), `offsets` (where the columns of each image
//! begin, and where the last ones end), `widths` (of each character), `labels` (the characters of
//! all images from left to right) and `label_offsets`. Parts: `pixels` (images x columns x rows x
//! channels), `parents` (of each part but the first), `labels` (images x parts x 2: column and row)
//! and `scale`, what displacements are divided by. Labels may be missing at prediction.

use crate::arrays::{Arrays, NamedArray};
use crate::error::ReadError;
use std::path::PathBuf;

/// An image to cut into characters.
#[derive(Debug, Clone, PartialEq)]
pub struct Plate {
    /// The columns one after the other, as many numbers each as images have rows.
    pub pixels: Vec<f64>,
    /// The characters from left to right; none where the image is not labelled.
    pub characters: Box<[u16]>,
}

/// An image to find the parts of an object in.
#[derive(Debug, Clone, PartialEq)]
pub struct PartsImage {
    /// The numbers at column x and row y begin at `(x * height + y) * channels`.
    pub pixels: Vec<f64>,
    /// The place x · height + y of each part; none where the image is not labelled.
    pub places: Box<[u32]>,
}

/// The grid that images lie on, and the tree that the parts of an object form.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeShape {
    /// Columns of the grid.
    pub width: usize,
    /// Rows of the grid.
    pub height: usize,
    /// Numbers at each place.
    pub channels: usize,
    /// The parent of each part after the first; it comes before the part.
    pub parents: Vec<usize>,
    /// Displacements are divided by this, and their squares by its square.
    pub scale: f64,
}

/// Images of one kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Images {
    /// Images to cut into characters.
    Plates {
        /// Rows of every image.
        height: usize,
        /// Width of each character.
        widths: Vec<usize>,
        /// The images; without characters where they are not labelled.
        plates: Vec<Plate>,
        /// Whether they are labelled.
        labelled: bool,
    },
    /// Images to find parts in.
    Parts {
        /// Grid and tree.
        shape: TreeShape,
        /// The images; without places where they are not labelled.
        images: Vec<PartsImage>,
        /// Whether they are labelled.
        labelled: bool,
    },
}

impl Images {
    /// Number of images.
    pub fn len(&self) -> usize {
        match self {
            Images::Plates { plates, .. } => plates.len(),
            Images::Parts { images, .. } => images.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the true outputs are known.
    pub fn are_labelled(&self) -> bool {
        match self {
            Images::Plates { labelled, .. } | Images::Parts { labelled, .. } => *labelled,
        }
    }

    /// Numbers in all images.
    pub fn pixels(&self) -> usize {
        match self {
            Images::Plates { plates, .. } => plates.iter().map(|plate| plate.pixels.len()).sum(),
            Images::Parts { images, .. } => images.iter().map(|image| image.pixels.len()).sum(),
        }
    }

    /// Reads plates from one or several archives.
    pub fn read_plates(files: &[PathBuf], labels_needed: bool) -> Result<Self, ReadError> {
        read_all(files, |arrays| read_plates(arrays, labels_needed))
    }

    /// Reads plates from an archive that is already in memory; `name` stands for it in refusals.
    pub fn plates_in_bytes(
        name: &str,
        bytes: &[u8],
        labels_needed: bool,
    ) -> Result<Self, ReadError> {
        let mut arrays = Arrays::in_bytes(name, bytes)?;
        read_plates(&mut arrays, labels_needed)?.or_refuse_none(&arrays)
    }

    /// Reads images with parts from one or several archives.
    pub fn read_parts(files: &[PathBuf], labels_needed: bool) -> Result<Self, ReadError> {
        read_all(files, |arrays| read_parts(arrays, labels_needed))
    }

    /// The same for images with parts.
    pub fn parts_in_bytes(
        name: &str,
        bytes: &[u8],
        labels_needed: bool,
    ) -> Result<Self, ReadError> {
        let mut arrays = Arrays::in_bytes(name, bytes)?;
        read_parts(&mut arrays, labels_needed)?.or_refuse_none(&arrays)
    }

    /// The images, if there are any.
    fn or_refuse_none(self, arrays: &Arrays<'_>) -> Result<Self, ReadError> {
        if self.is_empty() { Err(arrays.refuse("at least one image", "none")) } else { Ok(self) }
    }

    /// Adds images of the same kind and shape; says whether they were.
    fn append(&mut self, other: Images) -> bool {
        match (self, other) {
            (
                Images::Plates { height, widths, plates, labelled },
                Images::Plates { height: h, widths: w, plates: more, labelled: l },
            ) => {
                *labelled &= l;
                plates.extend(more);
                *height == h && *widths == w
            }
            (
                Images::Parts { shape, images, labelled },
                Images::Parts { shape: s, images: more, labelled: l },
            ) => {
                *labelled &= l;
                images.extend(more);
                *shape == s
            }
            _ => false,
        }
    }

    /// The arrays that an archive of these images has.
    pub fn arrays(&self) -> Vec<NamedArray> {
        match self {
            Images::Plates { height, widths, plates, .. } => {
                let all = |of: fn(&Plate) -> usize| {
                    let mut offsets = vec![0u64];
                    for plate in plates {
                        offsets.push(offsets[offsets.len() - 1] + of(plate) as u64);
                    }
                    offsets
                };
                let mut columns = all(|plate| plate.pixels.len());
                columns.iter_mut().for_each(|offset| *offset /= *height as u64);
                let labels = all(|plate| plate.characters.len());
                let pixels: Vec<f64> = plates.iter().flat_map(|p| p.pixels.clone()).collect();
                let characters = plates.iter().flat_map(|plate| &plate.characters);
                vec![
                    NamedArray::reals("pixels", &[pixels.len() / height, *height], pixels),
                    NamedArray::whole("offsets", &[columns.len()], columns),
                    NamedArray::whole("widths", &[widths.len()], widths.iter().map(|w| *w as u64)),
                    NamedArray::whole(
                        "labels",
                        &[labels[plates.len()] as usize],
                        characters.map(|&a| u64::from(a)),
                    ),
                    NamedArray::whole("label_offsets", &[labels.len()], labels),
                ]
            }
            Images::Parts { shape, images, .. } => {
                let axes = [images.len(), shape.width, shape.height, shape.channels];
                let pixels = images.iter().flat_map(|image| image.pixels.clone()).collect();
                let height = shape.height as u64;
                let places = images.iter().flat_map(|image| &image.places);
                let places =
                    places.flat_map(|&at| [u64::from(at) / height, u64::from(at) % height]);
                let parts = shape.parents.len() + 1;
                let parents = shape.parents.iter().map(|&parent| parent as u64);
                vec![
                    NamedArray::reals("pixels", &axes, pixels),
                    NamedArray::whole("parents", &[shape.parents.len()], parents),
                    NamedArray::whole("labels", &[images.len(), parts, 2], places),
                    NamedArray::reals("scale", &[], vec![shape.scale]),
                ]
            }
        }
    }
}

fn read_all(
    files: &[PathBuf],
    read: impl Fn(&mut Arrays<'static>) -> Result<Images, ReadError>,
) -> Result<Images, ReadError> {
    let mut all: Option<(Images, Arrays<'static>)> = None;
    for path in files {
        let mut arrays = Arrays::open(path)?;
        let images = read(&mut arrays)?;
        match &mut all {
            None => all = Some((images, arrays)),
            Some((all, _)) => {
                if !all.append(images) {
                    let expected = "images of the same shape as in the files before";
                    return Err(arrays.refuse(expected, "others"));
                }
            }
        }
    }
    match all {
        Some((images, first)) => images.or_refuse_none(&first),
        None => Err(Arrays::none()),
    }
}

fn read_plates(arrays: &mut Arrays<'_>, labels_needed: bool) -> Result<Images, ReadError> {
    let pixels = arrays.numbers("pixels", &["columns", "rows"])?;
    let (columns, height) = (pixels.shape[0], pixels.shape[1]);
    if height == 0 {
        return Err(arrays.refuse("images of 1 row or more", "0 rows"));
    }
    let offsets = arrays.offsets("offsets", columns)?;
    let (_, widths) = arrays.whole_numbers("widths", &["characters"], 1 << 32)?;
    if widths.is_empty() || widths.contains(&0) || widths.len() > 1 << 16 {
        let expected = "from 1 to 65536 characters with widths of 1 or more";
        let found = match widths.len() {
            count @ 1..=65536 => format!("a width of 0 among {count}"),
            count => format!("{count} characters"),
        };
        return Err(arrays.refuse(expected, found));
    }
    let widths: Vec<usize> = widths.into_iter().map(|width| width as usize).collect();
    let mut images = offsets.windows(2).map(|span| span[1] - span[0]);
    let labelled = labels_needed || arrays.has("labels");
    let mut characters: Vec<Box<[u16]>> = vec![Box::default(); offsets.len() - 1];
    if labelled {
        let (_, labels) = arrays.whole_numbers("labels", &["segments"], widths.len() as u64)?;
        let starts = arrays.offsets("label_offsets", labels.len())?;
        if starts.len() != offsets.len() {
            let expected = format!("characters of {} images", offsets.len() - 1);
            return Err(arrays.refuse(expected, format!("those of {}", starts.len() - 1)));
        }
        for (image, (span, columns)) in starts.windows(2).zip(images).enumerate() {
            let of_image = &labels[span[0]..span[1]];
            let covered: usize = of_image.iter().map(|&a| widths[a as usize]).sum();
            if covered != columns {
                let expected =
                    format!("segments that cover the {columns} columns of image {image}");
                return Err(arrays.refuse(expected, format!("segments of {covered} columns")));
            }
            characters[image] = of_image.iter().map(|&a| a as u16).collect();
        }
    } else if let Some(image) = images.position(|columns| !can_cut(&widths, columns)) {
        let expected = "images that characters of these widths can cover";
        let columns = offsets[image + 1] - offsets[image];
        return Err(arrays.refuse(expected, format!("{columns} columns in image {image}")));
    }
    let of_image = |(span, characters): (&[usize], Box<[u16]>)| Plate {
        pixels: pixels.values[span[0] * height..span[1] * height].to_vec(),
        characters,
    };
    let plates = offsets.windows(2).zip(characters).map(of_image).collect();
    Ok(Images::Plates { height, widths, plates, labelled })
}

fn read_parts(arrays: &mut Arrays<'_>, labels_needed: bool) -> Result<Images, ReadError> {
    let pixels = arrays.numbers("pixels", &["images", "columns", "rows", "channels"])?;
    let &[count, width, height, channels] = &pixels.shape[..] else {
        return Err(arrays.refuse("pixels of 4 axes", "others"));
    };
    let places = width.saturating_mul(height);
    if places == 0 || channels == 0 || places > u32::MAX as usize {
        let found = format!("{width} x {height} places with {channels} channels");
        return Err(arrays.refuse("a grid with places and channels", found));
    }
    let (_, parents) = arrays.whole_numbers("parents", &["parts - 1"], 1 << 32)?;
    let parents: Vec<usize> = parents.into_iter().map(|parent| parent as usize).collect();
    if let Some(edge) = (0..parents.len()).find(|&edge| parents[edge] > edge) {
        let expected = format!("a parent of part {} that comes before it", edge + 1);
        return Err(arrays.refuse(expected, format!("part {}", parents[edge])));
    }
    let scale = match arrays.has("scale") {
        true => arrays.numbers("scale", &[])?.values[0],
        false => (width.max(height) as f64 - 1.0).max(1.0),
    };
    if scale <= 0.0 {
        return Err(arrays.refuse("a scale above 0", scale.to_string()));
    }
    let labelled = labels_needed || arrays.has("labels");
    // Without labels nothing in the file stands for the places of all parts in all images.
    let parts = if labelled { parents.len() + 1 } else { 0 };
    let mut found = Vec::new();
    if labelled {
        let axes = ["images", "parts", "2"];
        let (shape, labels) = arrays.whole_numbers("labels", &axes, 1 << 32)?;
        if shape != [count, parts, 2] {
            let expected = format!("places of {count} images by {parts} parts by 2");
            let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
            return Err(arrays.refuse(expected, axes.join(" by ")));
        }
        for at in labels.chunks_exact(2) {
            if at[0] >= width as u64 || at[1] >= height as u64 {
                let expected = format!("places on the grid of {width} x {height}");
                return Err(arrays.refuse(expected, format!("({}, {})", at[0], at[1])));
            }
            found.push((at[0] * height as u64 + at[1]) as u32);
        }
    }
    let size = places * channels;
    let of_image = |image: usize| PartsImage {
        pixels: pixels.values[image * size..(image + 1) * size].to_vec(),
        places: found[image * parts..(image + 1) * parts].into(),
    };
    let images = (0..count).map(of_image).collect();
    let shape = TreeShape { width, height, channels, parents, scale };
    Ok(Images::Parts { shape, images, labelled })
}

/// Whether characters of these widths can cover so many columns.
fn can_cut(widths: &[usize], columns: usize) -> bool {
    let mut reached = vec![false; columns + 1];
    reached[0] = true;
    for end in 1..=columns {
        reached[end] = widths.iter().any(|&width| width <= end && reached[end - width]);
    }
    reached[columns]
}

#[cfg(test)]
mod tests {
    use super::can_cut;

    #[test]
    fn columns_that_no_characters_add_up_to_cannot_be_covered() {
        let coverable = |widths: &[usize]| -> Vec<usize> {
            (1..=12).filter(|&columns| can_cut(widths, columns)).collect()
        };
        assert_eq!(coverable(&[4]), [4, 8, 12]);
        assert_eq!(coverable(&[3, 5]), [3, 5, 6, 8, 9, 10, 11, 12]);
        assert_eq!(coverable(&[2, 5, 3, 2]), (2..=12).collect::<Vec<_>>());
    }
}
