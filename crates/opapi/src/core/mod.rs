//! A small tensor core: types, views, and memory that is read and written in blocks of values.

pub mod memory;
pub mod parallel;
pub mod plan;
pub mod scalar;
pub mod types;
pub mod value;
pub mod view;
