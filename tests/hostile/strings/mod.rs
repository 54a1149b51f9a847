//! Pages of strings that contradict themselves, and text that is none: the rows that a page has, or an error that names it.
//!
//! A model reads the streams of a page as the specification has it, and says of each row which bytes it holds, or that no
//! reader can tell. A query that is handed a row of the second kind, or text that is not UTF-8, must be refused; one that is
//! not may be, in the words of the place; and no other rows than the model's may come. Binary is not asked to be text.

mod ask;
mod model;

use self::ask::Reading;
use self::model::{Cell, FAULTS, SOUND, break_at, file, layout, nulls, outputs, paged, texts};
use super::parts::Encoding;
use crate::differential::rng::Rng;

const ENCODINGS: [Encoding; 3] = [Encoding::Plain, Encoding::DeltaLengthByteArray, Encoding::DeltaByteArray];

const BATCH_SIZES: [usize; 11] = [1, 2, 3, 7, 1023, 1024, 1025, 4095, 4096, 4097, 8192];

/// Rows at and beside the borders of windows, batches and what is decoded at once.
const PLACES: [usize; 16] = [0, 1, 2, 6, 7, 1022, 1023, 1024, 1025, 2047, 4094, 4095, 4096, 4097, 8191, 8192];

async fn lengths_of(encoding: Encoding, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut turn = seed as usize;
    let outputs = outputs();
    for (fault, what) in FAULTS.iter().enumerate() {
        for at in PLACES {
            turn += 1;
            let values = texts(turn % 3, at + rng.pick(&[1, 2, 3, 500, 3000]));
            let layout = layout(&mut rng, values.len(), at);
            let nulls = nulls(&mut rng, &layout, at);
            let (mut pages, (page, value)) = paged(encoding, &values, &nulls, at);
            if !break_at(&mut pages[page], fault, value) {
                continue;
            }
            let output = outputs[turn / 2 % outputs.len()].clone();
            let file = file(&mut rng, output, &pages, &nulls);
            assert!(file.rows.contains(&Cell::Unknown));
            let batch_size = BATCH_SIZES[turn % BATCH_SIZES.len()];
            let name = format!("{encoding}, {what} at {at}, pages of {layout:?}");
            let reading = Reading::open(&file, batch_size, &name).await;
            reading.around(at, turn).await;
            // A row that comes first, and the first of the page.
            let first: usize = layout[..page].iter().sum();
            reading.around(first, turn + 1).await;
            if turn.is_multiple_of(5) {
                reading.by_value(&values[at / 2]).await;
            }
        }
    }
}

#[tokio::test]
async fn lengths_that_cannot_be_in_plain() {
    lengths_of(Encoding::Plain, 1).await;
}

#[tokio::test]
async fn lengths_that_cannot_be_in_delta_length_byte_array() {
    lengths_of(Encoding::DeltaLengthByteArray, 2).await;
}

#[tokio::test]
async fn lengths_that_cannot_be_in_delta_byte_array() {
    lengths_of(Encoding::DeltaByteArray, 3).await;
}

/// A page between two sound ones that ends at each of its bytes.
#[tokio::test]
async fn strings_that_end_early() {
    let mut rng = Rng::new(4);
    let outputs = outputs();
    let mut turn = 0;
    for encoding in ENCODINGS {
        for kind in 0..3 {
            let values = texts(kind, 21);
            let nulls = vec![vec![false; 7]; 3];
            let (mut pages, _) = paged(encoding, &values, &nulls, 0);
            for cut in 0..pages[1].encode().len() {
                turn += 1;
                pages[1].cut = cut;
                let file = file(&mut rng, outputs[turn % outputs.len()].clone(), &pages, &nulls);
                pages[1].cut = usize::MAX;
                let name = format!("{encoding}, {kind}, {cut} bytes");
                let reading = Reading::open(&file, [8192, 7, 1][turn / 2 % 3], &name).await;
                reading.rows("", |_| true).await;
                let row = SOUND.len() + 7 + turn % 7;
                reading.rows(&format!(" WHERE id = {row}"), |id| id == row).await;
                if turn % 8 == 0 {
                    reading.by_value(&values[turn % 21]).await;
                }
            }
        }
    }
}

/// Characters that are cut in two by the border of two values. Together they are UTF-8, and neither is; or one is, which shares
/// the first bytes of the character with the other: then all that DELTA_BYTE_ARRAY stores may be.
#[tokio::test]
async fn characters_that_two_values_share() {
    let mut rng = Rng::new(5);
    let outputs = outputs();
    let mut turn = 0;
    for encoding in ENCODINGS {
        for character in ["é", "水", "😀"] {
            for split in 1..character.len() {
                for at in PLACES {
                    turn += 1;
                    if rng.one_in(2) {
                        continue;
                    }
                    let (head, tail) = character.as_bytes().split_at(split);
                    let mut values = texts(turn % 3, at + rng.pick(&[2, 3, 500, 3000]));
                    // Both of any length: in a view, or not, and the character at any place of it.
                    let (before, after) =
                        (rng.pick(&[0, 1, 3, 4, 8, 11, 12, 13, 40]), rng.pick(&[0, 1, 9, 11, 12, 13, 40]));
                    let (before, after) = (vec![b'a'; before], vec![b'z'; after]);
                    let (whole, part) = ([before.as_slice(), head, tail].concat(), [before.as_slice(), head].concat());
                    let pair = match rng.below(4) {
                        0 | 1 => [part, [tail, &after].concat()],
                        2 => [part, [whole, after].concat()],
                        _ => [whole, [part, after].concat()],
                    };
                    values[at..at + 2].clone_from_slice(&pair);
                    let layout = layout(&mut rng, values.len(), at);
                    let nulls = nulls(&mut rng, &layout, at);
                    let (pages, _) = paged(encoding, &values, &nulls, at);
                    let output = outputs[turn / 2 % outputs.len()].clone();
                    let file = file(&mut rng, output, &pages, &nulls);
                    let batch_size = BATCH_SIZES[turn % BATCH_SIZES.len()];
                    let name = format!("{encoding}, {character} cut at {split} in row {at}, pages of {layout:?}");
                    let reading = Reading::open(&file, batch_size, &name).await;
                    reading.around(at, turn).await;
                    if turn % 3 == 0 {
                        reading.around(at + 1, turn + 1).await;
                    }
                    if turn % 7 == 0 {
                        reading.by_value(&values[at / 2]).await;
                    }
                }
            }
        }
    }
}

/// Text of all lengths of characters at each place of a value, in which values that follow each other share some of the bytes
/// of a character.
fn text_of_all_characters() -> Vec<Vec<u8>> {
    let characters = [
        "é", "è", "ê", "水", "氵", "永", "汉", "𝄞", "😀", "😁", "🚀", "é", "a", "ö", "漢", "👍", "", "ÿ", "\u{7ff}",
        "\u{ffff}",
    ];
    let mut values = Vec::new();
    for after in [0, 1, 5, 20] {
        for before in 0..21 {
            for character in characters {
                values.push(format!("{}{character}{}", "a".repeat(before), "ü".repeat(after)).into_bytes());
            }
        }
    }
    values
}

/// Such text is read right.
#[tokio::test]
async fn characters_at_every_place() {
    let mut rng = Rng::new(6);
    let mut values = text_of_all_characters();
    // In the order that shares most, in one that shares little, and by columns.
    let few = values.len();
    let shuffled: Vec<_> = (0..few).map(|row| values[row * 1009 % few].clone()).collect();
    values.extend(shuffled);
    let by_columns: Vec<_> = (0..few).map(|row| values[row * 20 % few + row * 20 / few].clone()).collect();
    values.extend(by_columns);
    values.extend(values.clone());
    values.truncate(9000);
    let mut turn = 0;
    for encoding in ENCODINGS {
        for output in outputs() {
            for batch_size in BATCH_SIZES {
                turn += 1;
                if rng.one_in(2) {
                    continue;
                }
                // Batches of one row are slow.
                let rows = if batch_size < 10 { few } else { values.len() };
                let values = &values[..rows];
                let at = rng.pick(&PLACES).min(rows - 1);
                let layout = layout(&mut rng, values.len(), at);
                let nulls = nulls(&mut rng, &layout, at);
                let (pages, _) = paged(encoding, values, &nulls, at);
                let file = file(&mut rng, output.clone(), &pages, &nulls);
                let name = format!("{encoding}, pages of {layout:?}");
                let reading = Reading::open(&file, batch_size, &name).await;
                reading.around(at, turn).await;
                if turn % 4 == 0 {
                    reading.by_value(&rng.pick(values)).await;
                }
            }
        }
    }
}

/// Values of any length up to a megabyte, so that they cross the borders of whatever memory is divided into.
#[tokio::test]
async fn values_that_are_long() {
    let mut rng = Rng::new(7);
    let alphabet: Vec<char> = ('!'..'~').filter(|c| !"'%_\\".contains(*c)).chain("äöüß水火😀".chars()).collect();
    let pool: String = (0..1_500_000).map(|_| rng.pick(&alphabet)).collect();
    let text = |rng: &mut Rng, len: usize| {
        let start = pool.floor_char_boundary(rng.below(pool.len() - len));
        pool.as_bytes()[start..pool.floor_char_boundary(start + len)].to_vec()
    };
    let mut values: Vec<Vec<u8>> = Vec::new();
    for row in 0..2500 {
        let len = match row {
            500 | 1900 => 1_100_000,
            _ if rng.one_in(300) => rng.pick(&[65_000, 65_536, 131_071, 262_145]),
            _ if rng.one_in(10) => rng.below(8000),
            _ => rng.below(200),
        };
        let mut value = text(&mut rng, len);
        // Often the beginning of the value before, wherever that ends.
        if let (Some(previous), true) = (values.last(), rng.one_in(2)) {
            let shared = str::from_utf8(previous).unwrap();
            let shared = &shared[..shared.floor_char_boundary(rng.below(shared.len().min(3000) + 1))];
            value = [shared.as_bytes(), &value].concat();
        }
        values.push(value);
    }
    let mut turn = 0;
    for encoding in ENCODINGS {
        for bad in [None, Some(499), Some(500), Some(1900), Some(2400)] {
            turn += 1;
            let mut values = values.clone();
            if let Some(bad) = bad {
                values[bad].extend(b"\xe6\xb0");
                values[bad + 1] = [b"\xb4", values[bad + 1].as_slice()].concat();
            }
            let at = bad.unwrap_or(1200);
            let layout = layout(&mut rng, values.len(), at);
            let nulls = nulls(&mut rng, &layout, at);
            let (pages, _) = paged(encoding, &values, &nulls, at);
            for _ in 0..2 {
                turn += 1;
                let output = rng.pick(&outputs());
                let file = file(&mut rng, output, &pages, &nulls);
                let batch_size = rng.pick(&[7, 1000, 1024, 8192]);
                let name = format!("{encoding}, bad {bad:?}, pages of {layout:?}");
                let reading = Reading::open(&file, batch_size, &name).await;
                reading.around(at, turn).await;
                reading.by_value(&values[1200]).await;
            }
        }
    }
}
