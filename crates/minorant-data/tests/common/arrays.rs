//! Writers of NPY files and of the archives they come in, for the tests of all crates.

/// An NPY file with this type, order and shape.
pub(crate) fn npy(descr: &str, by_columns: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let order = if by_columns { "True" } else { "False" };
    let axes: Vec<String> = shape.iter().map(|axis| format!("{axis}, ")).collect();
    let mut header = format!(
        "{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({}), }}",
        axes.concat().trim_end()
    );
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// Little-endian f64.
pub(crate) fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Little-endian i32.
pub(crate) fn i32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A zip archive whose members are stored as they are.
pub(crate) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for (name, bytes) in members {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let offset = file.len() as u32;
        // Version, flags, method, time, date.
        let mut common: Vec<u8> =
            [20u16, 0, 0, 0, 0x21].iter().flat_map(|n| n.to_le_bytes()).collect();
        common.extend(crc.sum().to_le_bytes());
        common.extend((bytes.len() as u32).to_le_bytes());
        common.extend((bytes.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.as_bytes());
        file.extend(*bytes);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = file.len() as u32;
    file.extend(&directory);
    file.extend(b"PK\x05\x06\x00\x00\x00\x00");
    file.extend((members.len() as u16).to_le_bytes());
    file.extend((members.len() as u16).to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}
