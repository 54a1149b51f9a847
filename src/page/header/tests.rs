use super::*;
use crate::encoding::rle::tests::Random;

/// A writer of the Thrift compact protocol, for tests.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    last: Vec<i16>,
}

impl Writer {
    fn uleb(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn field(&mut self, id: i16, compact: u8) {
        let last = self.last.last_mut().unwrap();
        let delta = id - *last;
        *last = id;
        if (1..=15).contains(&delta) {
            self.bytes.push((delta as u8) << 4 | compact);
        } else {
            self.bytes.push(compact);
            self.uleb(u64::from((id << 1 ^ id >> 15) as u16));
        }
    }

    fn i32(&mut self, id: i16, value: i32) {
        self.field(id, 5);
        self.uleb(u64::from((value << 1 ^ value >> 31) as u32));
    }

    fn open(&mut self) {
        self.last.push(0);
    }

    fn close(&mut self) {
        self.last.pop();
        self.bytes.push(0);
    }

    /// One field of each type that a reader has to step over.
    fn unknown_fields(&mut self, from: i16) {
        self.field(from, 1);
        self.field(from + 1, 3);
        self.bytes.push(0x80);
        self.field(from + 2, 4);
        self.uleb(70_000);
        self.field(from + 3, 6);
        self.uleb(u64::MAX);
        self.field(from + 4, 7);
        self.bytes.extend_from_slice(&[9; 8]);
        self.field(from + 5, 8);
        self.uleb(300);
        self.bytes.extend_from_slice(&[7; 300]);
        // A list of 20 booleans, a set of 3 binaries, an empty list, a map of i32 to struct, an empty map, a UUID.
        self.field(from + 6, 9);
        self.bytes.extend_from_slice(&[0xf1, 20]);
        self.bytes.extend_from_slice(&[1; 20]);
        self.field(from + 7, 10);
        self.bytes.extend_from_slice(&[0x38, 0, 1, 5, 2, 5, 5]);
        self.field(from + 8, 9);
        self.bytes.push(0x00);
        self.field(from + 9, 11);
        self.bytes.extend_from_slice(&[2, 0x5c, 4, 0x15, 2, 0, 6, 0]);
        self.field(from + 10, 11);
        self.bytes.push(0);
        self.field(from + 11, 13);
        self.bytes.extend_from_slice(&[3; 16]);
        // From a higher id to a lower one.
        self.field(from - 1, 2);
        self.field(from + 300, 12);
        self.bytes.extend_from_slice(&[0x15, 2, 0]);
    }
}

fn write(header: &PageHeader, unknown: bool) -> Vec<u8> {
    let mut writer = Writer::default();
    let number = |encoding| (0..300).find(|&number| Encoding::from_thrift(number) == encoding).unwrap();
    writer.open();
    let kind = match header.kind {
        PageKind::DataV1 { .. } => 0,
        PageKind::Other => 1,
        PageKind::Dictionary { .. } => 2,
        PageKind::DataV2 { .. } => 3,
    };
    writer.i32(1, kind);
    writer.i32(2, header.uncompressed_size as i32);
    writer.i32(3, header.compressed_size as i32);
    if let Some(crc) = header.crc {
        writer.i32(4, crc as i32);
    }
    match header.kind {
        PageKind::DataV1 { num_values, encoding, definition_level_encoding } => {
            writer.field(5, 12);
            writer.open();
            writer.i32(1, num_values as i32);
            writer.i32(2, number(encoding));
            writer.i32(3, number(definition_level_encoding));
            writer.i32(4, 3);
        }
        PageKind::Other => {
            writer.field(6, 12);
            writer.open();
        }
        PageKind::Dictionary { num_values, encoding } => {
            writer.field(7, 12);
            writer.open();
            writer.i32(1, num_values as i32);
            writer.i32(2, number(encoding));
            writer.field(3, 1);
        }
        PageKind::DataV2 {
            num_values,
            num_nulls,
            num_rows,
            encoding,
            definition_levels_len,
            repetition_levels_len,
            is_compressed,
        } => {
            writer.field(8, 12);
            writer.open();
            writer.i32(1, num_values as i32);
            writer.i32(2, num_nulls as i32);
            writer.i32(3, num_rows as i32);
            writer.i32(4, number(encoding));
            writer.i32(5, definition_levels_len as i32);
            writer.i32(6, repetition_levels_len as i32);
            // True is what is meant where the field is missing.
            if !is_compressed {
                writer.field(7, 2);
            }
        }
    }
    if unknown {
        writer.unknown_fields(20);
    }
    writer.close();
    if unknown {
        writer.unknown_fields(40);
    }
    writer.close();
    writer.bytes
}

fn headers() -> Vec<PageHeader> {
    let kinds = [
        PageKind::DataV1 {
            num_values: 1000,
            encoding: Encoding::DeltaBinaryPacked,
            definition_level_encoding: Encoding::Rle,
        },
        PageKind::DataV1 {
            num_values: i32::MAX as usize,
            encoding: Encoding::Unknown(77),
            definition_level_encoding: Encoding::BitPacked,
        },
        PageKind::DataV2 {
            num_values: 12,
            num_nulls: 5,
            num_rows: 11,
            encoding: Encoding::DeltaByteArray,
            definition_levels_len: 3,
            repetition_levels_len: 200,
            is_compressed: true,
        },
        PageKind::DataV2 {
            num_values: 0,
            num_nulls: 0,
            num_rows: 0,
            encoding: Encoding::RleDictionary,
            definition_levels_len: 0,
            repetition_levels_len: 0,
            is_compressed: false,
        },
        PageKind::Dictionary { num_values: 70, encoding: Encoding::Plain },
        PageKind::Other,
    ];
    let mut headers = Vec::new();
    for kind in kinds {
        headers.push(PageHeader { kind, uncompressed_size: 0, compressed_size: 0, crc: None });
        let (uncompressed_size, compressed_size) = (i32::MAX as usize, 70_000);
        headers.push(PageHeader { kind, uncompressed_size, compressed_size, crc: Some(0xdead_beef) });
    }
    headers
}

#[test]
fn headers_come_back_and_unknown_fields_are_stepped_over() {
    for header in headers() {
        for unknown in [false, true] {
            let mut bytes = write(&header, unknown);
            let size = bytes.len();
            assert_eq!(parse(&bytes).unwrap(), (header, size));
            // What follows is not the header's.
            bytes.extend_from_slice(&[0x15; 40]);
            assert_eq!(parse(&bytes).unwrap(), (header, size));
        }
    }
}

#[test]
fn every_truncation_is_an_error() {
    for header in headers() {
        let bytes = write(&header, true);
        for len in 0..bytes.len() {
            assert!(parse(&bytes[..len]).is_err(), "{header:?} cut to {len} bytes");
        }
    }
}

#[test]
fn any_bytes_are_a_header_or_an_error() {
    let mut random = Random::new(1);
    for header in headers() {
        let bytes = write(&header, true);
        for at in 0..bytes.len() {
            for _ in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= random.next() as u8;
                if random.below(2) == 0 {
                    let other = random.below(bytes.len());
                    bytes[other] = random.next() as u8;
                }
                if let Ok((_, size)) = parse(&bytes) {
                    assert!(size <= bytes.len());
                }
            }
        }
    }
    for _ in 0..20_000 {
        let len = random.below(60);
        let _ = parse(&random.bytes(len));
    }
}

#[test]
fn sizes_and_counts_below_zero_are_refused() {
    for id in 1..=8 {
        for inner in 1..=6 {
            let mut writer = Writer::default();
            writer.open();
            writer.i32(1, 3);
            writer.i32(2, if id == 2 { -1 } else { 1 });
            writer.i32(3, if id == 3 { i32::MIN } else { 1 });
            writer.field(8, 12);
            writer.open();
            for field in 1..=6 {
                writer.i32(field, if id == 8 && inner == field { -1 } else { 1 });
            }
            writer.close();
            writer.close();
            // An encoding below zero has no name, and is no count.
            let refused = matches!(id, 2 | 3) || id == 8 && inner != 4;
            assert_eq!(parse(&writer.bytes).is_err(), refused, "field {id}, {inner}");
        }
    }
}

#[test]
fn missing_fields_are_refused() {
    // Page types without their header, and a header without its fields.
    for page_type in [0, 2, 3] {
        for id in [5, 7, 8] {
            let mut writer = Writer::default();
            writer.open();
            writer.i32(1, page_type);
            writer.i32(2, 1);
            writer.i32(3, 1);
            writer.field(id, 12);
            writer.open();
            writer.close();
            writer.close();
            assert!(parse(&writer.bytes).is_err());
        }
    }
    assert!(parse(&[0]).is_err());
    assert!(parse(&[]).is_err());
}

#[test]
fn kinds_that_are_not_known_are_other() {
    let mut writer = Writer::default();
    writer.open();
    writer.i32(1, 4);
    writer.i32(2, 10);
    writer.i32(3, 9);
    writer.close();
    let header = PageHeader { kind: PageKind::Other, uncompressed_size: 10, compressed_size: 9, crc: None };
    assert_eq!(parse(&writer.bytes).unwrap().0, header);
}

#[test]
fn nesting_and_counts_are_bounded() {
    // Structs in structs, lists in lists, maps of maps.
    for nested in [0x1c, 0x19, 0x1b] {
        assert!(parse(&vec![nested; 1 << 20]).is_err());
    }
    // Containers and binaries of 2^63 elements, and elements that would take no bytes.
    for field in [0x18, 0x19, 0x1a, 0x1b] {
        let mut bytes = vec![field];
        if field == 0x19 || field == 0x1a {
            bytes.push(0xf1);
        }
        bytes.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x11]);
        bytes.resize(1000, 1);
        assert!(parse(&bytes).is_err());
    }
    // Field ids past 16 bits.
    let mut bytes = vec![0x01, 0xfe, 0xff, 0x03];
    bytes.extend_from_slice(&[0x11; 4]);
    assert!(parse(&bytes).is_err());
    assert!(parse(&[0x01, 0x80, 0x80, 0x04]).is_err());
}
