//! Planning functions, by family: each checks the arguments of its operators and returns what reads, writes and works.

pub mod activation;
pub mod attention;
pub mod binary;
pub mod checks;
pub mod complex;
pub mod elementwise;
pub mod foreach;
pub mod function;
pub mod gradient;
pub mod indexing;
pub mod layout;
pub mod matmul;
pub mod normalize;
pub mod quantized;
pub mod reduce;
pub mod rows;
pub mod solve;
pub mod spatial;
pub mod unary;

/// What the plans of the table can name.
pub mod prelude {
    pub use super::activation::*;
    pub use super::attention::*;
    pub use super::binary::*;
    pub use super::elementwise::*;
    pub use super::foreach::*;
    pub use super::function::Binary::*;
    pub use super::function::Unary::*;
    pub use super::gradient::*;
    pub use super::indexing::*;
    pub use super::layout::*;
    pub use super::matmul::*;
    pub use super::normalize::*;
    pub use super::quantized::*;
    pub use super::reduce::Reduction::*;
    pub use super::reduce::*;
    pub use super::rows::*;
    pub use super::solve::*;
    pub use super::spatial::*;
    pub use super::unary::*;
    pub use crate::core::scalar::Scalar;
}
