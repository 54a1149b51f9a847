//! Files whose bytes are wrong, and files that are right and odd: rows or a clear error, and never a panic, a hang, or memory
//! that the bytes do not warrant.
//!
//! | module | job |
//! |---|---|
//! | `parts` | files taken apart into pages, and put together from pages |
//! | `read` | what Miniblock makes of the bytes of one file |
//! | `pages` | pages and chunks as writers may make them, and as they may not |
//! | `limits` | files that ask for more than the options allow |
//! | `strings` | lengths, prefixes and text that cannot be, in batches of any size |
//! | `mutators` | small wrongs |
//! | `mutation` | all files of `tests/data` with small wrongs, many thousands of them |

mod limits;
mod mutation;
mod mutators;
mod pages;
mod parts;
mod read;
mod strings;
