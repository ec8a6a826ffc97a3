//! Tests of the safe layer on a fake library. softacl is not involved.
//!
//! The memory of the fake library is allocated by the test, so that the test, Miri and AddressSanitizer detect memory
//! that is freed too early, twice or never. Copies execute when the program waits.

mod copies;
mod ends;
mod failures;
mod futures;
mod library;
mod wakers;
