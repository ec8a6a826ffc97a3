//! Gradients of elementwise functions and of softmax.

use super::checks::{axis, same_shape};
use super::elementwise::map;
use super::rows::map_rows;
use crate::core::plan::Planned;
use crate::core::scalar::Scalar;
use crate::core::types::Class;
use crate::core::view::View;
use std::f64::consts::FRAC_2_PI;

/// A function whose gradient is computed, with what the second tensor holds.
#[derive(Debug, Clone, Copy)]
pub enum Gradient {
    /// Of the result.
    Sigmoid,
    /// Of the argument, like all that follow.
    Silu,
    Gelu,
    FastGelu,
    Hardswish,
    LogSigmoid,
    Threshold(Scalar),
}

/// Plans `out = gradient * derivative(x)`.
pub fn gradient(function: Gradient, gradient: View, x: View, out: View) -> Planned {
    if [&gradient, &x].iter().any(|view| view.kind.class() == Class::Complex) {
        return super::elementwise::no_complex();
    }
    map::<f64>(vec![gradient.into(), x.into()], out, move |values, others| {
        for (value, x) in values.iter_mut().zip(&others[0]) {
            // 0 times a derivative that is not finite is still no gradient where the function is cut off.
            *value = match function {
                Gradient::Threshold(threshold) => {
                    if *x > threshold.f64() || x.is_nan() {
                        *value
                    } else {
                        0.0
                    }
                }
                _ => *value * derivative(function, *x),
            };
        }
    })
}

fn derivative(function: Gradient, x: f64) -> f64 {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    match function {
        Gradient::Sigmoid => x * (1.0 - x),
        Gradient::Silu => sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x))),
        Gradient::Gelu => {
            let inner = FRAC_2_PI.sqrt() * (x + 0.044_715 * x * x * x);
            let slope = FRAC_2_PI.sqrt() * (1.0 + 3.0 * 0.044_715 * x * x);
            0.5 * (1.0 + inner.tanh()) + 0.5 * x * (1.0 - inner.tanh() * inner.tanh()) * slope
        }
        Gradient::FastGelu => {
            let gate = sigmoid(1.702 * x);
            gate + x * 1.702 * gate * (1.0 - gate)
        }
        Gradient::Hardswish if x < -3.0 => 0.0,
        Gradient::Hardswish if x <= 3.0 => x / 3.0 + 0.5,
        Gradient::LogSigmoid => sigmoid(-x),
        Gradient::Hardswish | Gradient::Threshold(_) => 1.0,
    }
}

/// The gradient of softmax along a dimension, from its result.
pub fn softmax_gradient(is_log: bool, gradient: View, result: View, dim: i64, out: View) -> Planned {
    same_shape(&gradient, &result)?;
    same_shape(&gradient, &out)?;
    let axis = axis(dim, out.rank(), "dim")?;
    let [gradient, result, out] =
        [gradient, result, out].map(|view| if view.rank() == 0 { view.unsqueeze(0) } else { view.last(axis) });
    map_rows::<f64>(vec![gradient, result], vec![out], move |read, written| {
        let (gradient, result) = (&read[0], &read[1]);
        let sum: f64 = match is_log {
            true => gradient.iter().sum(),
            false => gradient.iter().zip(result).map(|(gradient, result)| gradient * result).sum(),
        };
        for (value, (gradient, result)) in written[0].iter_mut().zip(gradient.iter().zip(result)) {
            *value = if is_log { gradient - result.exp() * sum } else { (gradient - sum) * result };
        }
    })
}
