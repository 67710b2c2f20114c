//! Reads the public data sets in the folder that `MINORANT_DATA` names (or `../shared/data` beside
//! the project) and compares their sizes with the published ones. Without the folder the test
//! says that it was skipped.
#![allow(clippy::print_stdout)]

use minorant_data::{Dataset, LabelKind, ReadOptions, read};
use std::path::{Path, PathBuf};

fn data_folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("MINORANT_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    };
    folder.is_dir().then_some(folder)
}

/// Rows, columns, classes of one read, and the files.
type Published = (usize, usize, usize, &'static [&'static str]);

const SINGLE_LABEL: &[Published] = &[
    (1605, 119, 2, &["adult/a1a.gz"]),
    (30956, 123, 2, &["adult/a1a.t.gz"]),
    (4781, 123, 2, &["adult/a4a.gz"]),
    (27780, 123, 2, &["adult/a4a.t.gz"]),
    (22696, 123, 2, &["adult/a8a.gz"]),
    (9865, 122, 2, &["adult/a8a.t.gz"]),
    (32561, 123, 2, &["adult/a9a.gz"]),
    (16281, 122, 2, &["adult/a9a.t.gz"]),
    (48842, 123, 2, &["adult/a9a.gz", "adult/a9a.t.gz"]),
    (49749, 300, 2, &["w8a/w8a.gz"]),
    (2477, 300, 2, &["w8a/w1a.gz"]),
    (7291, 256, 10, &["usps/usps.gz"]),
    (2007, 256, 10, &["usps/usps.t.gz"]),
    (15000, 16, 26, &["letter/letter.scale.gz"]),
    (5000, 16, 26, &["letter/letter.scale.t.gz"]),
    (4435, 36, 6, &["satimage/sat.trn.gz"]),
    (2000, 36, 6, &["satimage/sat.tst.gz"]),
    (990, 13, 11, &["vowel/vowel-context.data"]),
    (2000, 180, 3, &["dna/dna.scale.gz"]),
    (1186, 180, 3, &["dna/dna.scale.t.gz"]),
    (7494, 16, 10, &["pendigits/pendigits.tra.gz"]),
    (3498, 16, 10, &["pendigits/pendigits.tes.gz"]),
    (11314, 46818, 20, &["news20/news20.bydate.counts.gz"]),
    (7532, 46818, 20, &["news20/news20.bydate.counts.t.gz"]),
    (1943, 3289, 2, &["news20_pairs/pcmac.libsvm.gz"]),
    (1993, 4862, 2, &["news20_pairs/basehock.libsvm.gz"]),
    (1427, 4322, 2, &["news20_pairs/relathe.libsvm.gz"]),
    (1000, 47117, 2, &["rcv1_ccat_sample/rcv1_ccat_sample.train.gz"]),
    (8124, 112, 2, &["mushrooms/mushrooms.gz"]),
    (6513, 126, 2, &["mushrooms/agaricus.txt.train.gz"]),
    (1611, 126, 2, &["mushrooms/agaricus.txt.test.gz"]),
    (11055, 68, 2, &["phishing/phishing.gz"]),
    (20000, 54, 7, &["covtype_sample/covtype-sample-20000.data.gz"]),
    (72, 7130, 2, &["leukemia/golub_all_aml_raw.csv.gz"]),
    (38, 7129, 2, &["leukemia/leu.gz"]),
    (34, 7129, 2, &["leukemia/leu.t.gz"]),
    (62, 2000, 2, &["colon/colon-cancer.gz"]),
    (1500, 241, 2, &["ssl_benchmark/digit1.npz"]),
    (1500, 241, 2, &["ssl_benchmark/usps2.npz"]),
    (1500, 241, 2, &["ssl_benchmark/coil2.npz"]),
    (1500, 241, 2, &["ssl_benchmark/g241c.npz"]),
    (1500, 241, 2, &["ssl_benchmark/g241n.npz"]),
    (1500, 241, 6, &["ssl_benchmark/coil6.npz"]),
    (400, 117, 2, &["ssl_benchmark/bci.npz"]),
    (1500, 11959, 2, &["ssl_benchmark/text.libsvm.gz"]),
    (550, 50, 2, &["ssl_sindhwani/g50c.libsvm.gz"]),
    (550, 10, 2, &["ssl_sindhwani/g10n.libsvm.gz"]),
    (2007, 256, 10, &["ssl_sindhwani/uspst.libsvm.gz"]),
    (1946, 7510, 2, &["ssl_sindhwani/macwin.libsvm.gz"]),
    (1440, 1024, 20, &["coil20/coil20.npz"]),
    (5000, 21, 3, &["waveform/waveform.data.gz"]),
    (5456, 24, 4, &["wall_following/sensor_readings_24.data.gz"]),
    (60000, 784, 10, &["mnist/train-images-idx3-ubyte.gz"]),
    (10000, 784, 10, &["mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"]),
];

const MULTILABEL: &[Published] = &[
    (1211, 294, 6, &["multilabel/scene/scene-train.arff.gz"]),
    (1196, 294, 6, &["multilabel/scene/scene-test.arff.gz", "multilabel/scene/scene.xml"]),
    (1500, 103, 14, &["multilabel/yeast/yeast-train.arff.gz"]),
    (917, 103, 14, &["multilabel/yeast/yeast-test.arff.gz"]),
    (1500, 103, 14, &["multilabel/yeast/yeast_train.svm.gz"]),
    (917, 103, 14, &["multilabel/yeast/yeast_test.svm.gz"]),
    (593, 72, 6, &["multilabel/emotions/emotions.arff.gz"]),
    (391, 72, 6, &["multilabel/emotions/emotions-train.arff.gz"]),
    (202, 72, 6, &["multilabel/emotions/emotions-test.arff.gz"]),
    (21519, 500, 22, &["multilabel/tmc2007/tmc2007-500-train.arff.gz"]),
    (7077, 500, 22, &["multilabel/tmc2007/tmc2007-500-test.arff.gz"]),
    (4880, 1836, 159, &["multilabel/bibtex/bibtex-train.arff.gz"]),
    (2515, 1836, 159, &["multilabel/bibtex/bibtex-test.arff.gz"]),
    (1123, 1001, 53, &["multilabel/enron/enron-train.arff.gz"]),
    (579, 1001, 53, &["multilabel/enron/enron-test.arff.gz"]),
    (333, 1449, 45, &["multilabel/medical/medical-train.arff.gz"]),
    (645, 1449, 45, &["multilabel/medical/medical-test.arff.gz"]),
];

fn read_from(folder: &Path, files: &[&str], options: &ReadOptions) -> Dataset<'static> {
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
    read(&paths, options).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn sizes_are_the_published_ones() {
    let Some(folder) = data_folder() else {
        println!("skipped: no data folder");
        return;
    };
    for &(rows, cols, classes, files) in SINGLE_LABEL.iter().chain(MULTILABEL) {
        let data = read_from(&folder, files, &ReadOptions::default());
        let found = (data.features.rows(), data.features.cols(), data.labels.classes.len());
        assert_eq!(found, (rows, cols, classes), "{files:?}");
        assert_eq!(data.labels.len(), rows, "{files:?}");
    }
    for &(.., files) in MULTILABEL {
        let data = read_from(&folder, files, &ReadOptions::default());
        assert_eq!(data.labels.kind(), Some(LabelKind::Multilabel), "{files:?}");
    }
}

#[test]
fn class_counts_and_values_are_right() {
    let Some(folder) = data_folder() else {
        println!("skipped: no data folder");
        return;
    };
    let defaults = ReadOptions::default();
    let a9a = read_from(&folder, &["adult/a9a.gz"], &defaults);
    assert_eq!(a9a.labels.counts(), [24720, 7841]);
    assert_eq!(a9a.features.values().width(), 4);
    let w8a = read_from(&folder, &["w8a/w8a.gz"], &defaults);
    assert_eq!((w8a.features.entries(), w8a.labels.counts()[1]), (579_586, 1479));
    let news = read_from(&folder, &["news20/news20.bydate.counts.gz"], &defaults);
    assert_eq!(news.features.entries(), 1_635_033);
    let satimage = read_from(&folder, &["satimage/sat.trn.gz"], &defaults);
    assert_eq!(satimage.labels.counts(), [1072, 479, 961, 415, 470, 1038]);
    let by_column = ReadOptions { label_column: Some("1".to_owned()), ..ReadOptions::default() };
    let letter = read_from(&folder, &["letter/letter-recognition.data.gz"], &by_column);
    assert_eq!((letter.features.rows(), letter.features.cols()), (20000, 16));
    assert_eq!(letter.labels.classes[0].to_string(), "A");
    let mnist = read_from(&folder, &["mnist/train-images-idx3-ubyte.gz"], &defaults);
    assert_eq!(mnist.labels.counts()[..3], [5923, 6742, 5958]);
    assert!(!mnist.features.is_sparse() && mnist.features.values().width() == 4);
}

#[test]
fn both_formats_of_yeast_agree() {
    let Some(folder) = data_folder() else {
        println!("skipped: no data folder");
        return;
    };
    let defaults = ReadOptions::default();
    let arff = read_from(&folder, &["multilabel/yeast/yeast-train.arff.gz"], &defaults);
    let svm = read_from(&folder, &["multilabel/yeast/yeast_train.svm.gz"], &defaults);
    for row in 0..arff.features.rows() {
        let nonzeros = |data: &Dataset| {
            data.features.row(row).filter(|&(_, value)| value != 0.0).collect::<Vec<_>>()
        };
        assert_eq!(nonzeros(&arff), nonzeros(&svm), "row {row}");
        // Class1 is label 0 of the other file; alphabetical order is not numerical order.
        let mut names: Vec<usize> = arff
            .labels
            .row(row)
            .iter()
            .map(|&class| arff.labels.classes[class as usize].to_string())
            .map(|name| name.trim_start_matches("Class").parse::<usize>().unwrap() - 1)
            .collect();
        names.sort_unstable();
        let numbers: Vec<usize> = svm.labels.row(row).iter().map(|&class| class as usize).collect();
        assert_eq!(names, numbers, "row {row}");
    }
}
