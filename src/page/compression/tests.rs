use super::*;
use crate::encoding::rle::tests::Random;
use parquet::compression::{CodecOptions, create_codec};

fn codecs() -> [(Codec, Compression); 7] {
    [
        (Codec::Uncompressed, Compression::UNCOMPRESSED),
        (Codec::Snappy, Compression::SNAPPY),
        (Codec::Gzip, Compression::GZIP(Default::default())),
        (Codec::Brotli, Compression::BROTLI(Default::default())),
        (Codec::Lz4, Compression::LZ4),
        (Codec::Zstd, Compression::ZSTD(Default::default())),
        (Codec::Lz4Raw, Compression::LZ4_RAW),
    ]
}

/// `data` as the parquet crate compresses it.
fn compress(compression: Compression, data: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::new();
    match create_codec(compression, &CodecOptions::default()).unwrap() {
        Some(mut codec) => codec.compress(data, &mut compressed).unwrap(),
        None => compressed.extend_from_slice(data),
    }
    compressed
}

fn pages() -> Vec<Vec<u8>> {
    let mut random = Random::new(1);
    let mixed = (0..70_000).map(|at| if at / 50 % 3 == 0 { random.next() as u8 } else { (at / 7) as u8 }).collect();
    vec![vec![], vec![5], vec![0; 300_000], random.bytes(10_000), mixed, b"abcabcabc".repeat(40)]
}

fn decompress(codec: Codec, compressed: &[u8], size: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    Decompressor::default().decompress(codec, compressed, size, Limits::default(), &mut out)?;
    Ok(out)
}

#[test]
fn every_codec_gives_the_page_back() {
    // One decompressor and one buffer for all, as in a scan.
    let mut decompressor = Decompressor::default();
    let mut out = vec![1; 100];
    for (codec, compression) in codecs() {
        assert_eq!(Codec::try_from(compression).unwrap(), codec);
        for page in pages() {
            let compressed = compress(compression, &page);
            for _ in 0..2 {
                decompressor.decompress(codec, &compressed, page.len(), Limits::default(), &mut out).unwrap();
                assert!(out == page, "{codec:?}, {} bytes", page.len());
            }
        }
        // No bytes for no bytes, whatever the codec.
        decompressor.decompress(codec, &[], 0, Limits::default(), &mut out).unwrap();
        assert!(out.is_empty());
        assert!(decompress(codec, &[], 1).is_err());
    }
    assert!(matches!(Codec::try_from(Compression::LZO), Err(Error::Unsupported(_))));
}

#[test]
fn another_size_than_the_headers_is_refused() {
    for (codec, compression) in codecs() {
        for page in pages() {
            let compressed = compress(compression, &page);
            let len = page.len();
            for size in [0, len / 2, len.saturating_sub(1), len + 1, len * 2 + 1, 8 << 20] {
                if size != len {
                    assert!(decompress(codec, &compressed, size).is_err(), "{codec:?} of {len} bytes as {size}");
                }
            }
        }
    }
}

#[test]
fn bombs_stop_at_the_size_of_the_header() {
    for (codec, compression) in codecs() {
        let compressed = compress(compression, &vec![0; 4 << 20]);
        let mut out = Vec::new();
        let result = Decompressor::default().decompress(codec, &compressed, 1000, Limits::default(), &mut out);
        assert!(matches!(result, Err(Error::Corrupt(_))), "{codec:?}");
        assert!(out.capacity() < 10_000, "{codec:?}");
    }
}

#[test]
fn the_limit_is_checked_before_memory_is_taken() {
    for (codec, _) in codecs() {
        let mut out = Vec::new();
        let limits = Limits { max_page_size: 1000, ..Limits::default() };
        let result = Decompressor::default().decompress(codec, &[0; 2000], 1001, limits, &mut out);
        assert!(matches!(result, Err(Error::Limit(_))), "{codec:?}");
        assert_eq!(out.capacity(), 0);
    }
    // Nor is it taken for what the codec could not make of so few bytes.
    for codec in [Codec::Uncompressed, Codec::Snappy, Codec::Gzip, Codec::Lz4, Codec::Lz4Raw] {
        let mut out = Vec::new();
        let result = Decompressor::default().decompress(codec, &[0; 50], 200 << 20, Limits::default(), &mut out);
        assert!(matches!(result, Err(Error::Corrupt(_))), "{codec:?}");
        assert_eq!(out.capacity(), 0);
    }
}

#[test]
fn every_truncation_is_an_error() {
    for (codec, compression) in codecs() {
        let page = b"a page, a page, another page of 0123456789".repeat(3);
        let compressed = compress(compression, &page);
        for len in 0..compressed.len() {
            assert!(decompress(codec, &compressed[..len], page.len()).is_err(), "{codec:?} cut to {len}");
        }
    }
}

#[test]
fn any_bytes_are_a_page_or_an_error() {
    let mut random = Random::new(2);
    let mut decompressor = Decompressor::default();
    let mut out = Vec::new();
    for (codec, compression) in codecs() {
        let page = [b"0123456789".repeat(20), random.bytes(50)].concat();
        let compressed = compress(compression, &page);
        for _ in 0..600 {
            let mut compressed = compressed.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(compressed.len());
                compressed[at] = random.next() as u8;
            }
            let size = if random.below(2) == 0 { page.len() } else { random.below(1000) };
            if decompressor.decompress(codec, &compressed, size, Limits::default(), &mut out).is_ok() {
                assert_eq!(out.len(), size);
            }
            let len = random.below(200);
            let _ = decompressor.decompress(codec, &random.bytes(len), size, Limits::default(), &mut out);
        }
        // The contexts are as good as new.
        decompressor.decompress(codec, &compressed, page.len(), Limits::default(), &mut out).unwrap();
        assert_eq!(out, page);
    }
}

#[test]
fn gzip_members_follow_one_another() {
    let compression = Compression::GZIP(Default::default());
    let (first, second) = (b"first ".repeat(100), b"and second".repeat(50));
    let plain = compress(compression, &first);
    let last = compress(compression, &second);
    // The second member's header has all its optional parts: a fourth byte of flags, then extra field, name, comment, CRC.
    let mut dressed = last[..10].to_vec();
    dressed[3] = 0b1_1110;
    dressed.extend_from_slice(b"\x03\x00xyzname\0comment\0\x01\x02");
    dressed.extend_from_slice(&last[10..]);
    let page = [first.as_slice(), &second].concat();
    let both = [plain.as_slice(), &dressed].concat();
    assert_eq!(decompress(Codec::Gzip, &both, page.len()).unwrap(), page);
    // An empty member in front, and one behind.
    let empty = compress(compression, &[]);
    let around = [empty.as_slice(), &both, &empty].concat();
    assert_eq!(decompress(Codec::Gzip, &around, page.len()).unwrap(), page);
    // Checksum, size and what follows are looked at.
    for back in 1..=8 {
        let mut wrong = both.clone();
        let at = wrong.len() - back;
        wrong[at] ^= 1;
        assert!(decompress(Codec::Gzip, &wrong, page.len()).is_err());
    }
    assert!(decompress(Codec::Gzip, &[both.as_slice(), &[0]].concat(), page.len()).is_err());
}

#[test]
fn zstd_frames_follow_one_another() {
    let compression = Compression::ZSTD(Default::default());
    let compressed = [compress(compression, b"one frame "), compress(compression, b"and another")].concat();
    assert_eq!(decompress(Codec::Zstd, &compressed, 21).unwrap(), b"one frame and another");
}

#[test]
fn the_old_lz4_has_three_forms() {
    let page = b"a page that is a page that is a page".repeat(10);
    let block = compress(Compression::LZ4_RAW, &page);
    assert_eq!(decompress(Codec::Lz4, &block, page.len()).unwrap(), page);

    let hadoop = |page: &[u8]| {
        let block = compress(Compression::LZ4_RAW, page);
        let mut framed = (page.len() as u32).to_be_bytes().to_vec();
        framed.extend_from_slice(&(block.len() as u32).to_be_bytes());
        framed.extend_from_slice(&block);
        framed
    };
    let two = [hadoop(&page[..100]), hadoop(&page[100..])].concat();
    assert_eq!(decompress(Codec::Lz4, &two, page.len()).unwrap(), page);

    let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
    std::io::Write::write_all(&mut frame, &page).unwrap();
    let frame = frame.finish().unwrap();
    assert_eq!(decompress(Codec::Lz4, &frame, page.len()).unwrap(), page);
    assert!(decompress(Codec::Lz4, &frame, page.len() - 1).is_err());
    assert!(decompress(Codec::Lz4, &frame, page.len() + 1).is_err());
}

#[test]
fn brotli_windows_over_16_mib_are_refused() {
    // The first byte of a large window stream, as it is not part of RFC 7932.
    assert!(decompress(Codec::Brotli, &[0x11, 30, 0, 0, 0, 0, 0, 0], 100).is_err());
}
