//! A call of an operator: its name, tensors and attributes.

use crate::attribute::Values;
use crate::tensor::Description;
use std::fmt::Write as _;

/// A tensor of a call: its description and its data.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub(crate) description: Description,
    pub(crate) address: usize,
    pub(crate) size: usize,
}

/// An operator with its tensors and attributes.
#[derive(Debug)]
pub(crate) struct OperatorCall {
    pub(crate) operator: String,
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
    pub(crate) attributes: Values,
}

impl OperatorCall {
    /// Describes the call for messages.
    pub(crate) fn describe(&self) -> String {
        let list = |tensors: &[Tensor]| {
            let each: Vec<String> = tensors.iter().map(|tensor| tensor.description.to_string()).collect();
            each.join(", ")
        };
        let mut text = format!("{}({}) -> ({})", self.operator, list(&self.inputs), list(&self.outputs));
        for (name, value) in &self.attributes {
            write!(text, " {name}={value}").expect("writing to a string cannot fail");
        }
        text
    }
}
