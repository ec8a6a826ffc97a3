//! The safe level on a fake library whose memory is that of the test: everything that is freed too early, twice or
//! never shows, here and under Miri or ASan. Copies run when somebody waits. No softacl is involved.

mod copies;
mod ends;
mod failures;
mod futures;
mod library;
mod wakers;
