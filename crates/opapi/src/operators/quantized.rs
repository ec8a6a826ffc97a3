//! Products with quantized weights.

use super::checks::{invalid, rank, shape};
use super::matmul::{Matrix, Sizes, multiply_parallel};
use crate::core::plan::{Plan, Planned};
use crate::core::view::View;

/// Scale and offset of the weights, and the bias of the result.
#[derive(Debug, Clone)]
pub struct Quantization {
    pub scale: View,
    pub offset: Option<View>,
    pub bias: Option<View>,
    /// Rows of the weight that share a scale; 0 for all of them.
    pub group: i32,
}

/// `y = x @ ((weight + offset) * scale) + bias`, with weights of 8 or 4 bits.
pub fn weight_quant_product(x: View, weight: View, rule: Quantization, y: View) -> Planned {
    rank(&x, 2..=2)?;
    rank(&weight, 2..=2)?;
    let (m, k, n) = (x.dims[0], x.dims[1], weight.dims[1]);
    if weight.dims[0] != k {
        return invalid(format!("x has shape {:?}, and weight has {:?}", x.dims, weight.dims));
    }
    shape(&y, &[m, n])?;
    let group = match rule.group {
        0 => k.max(1),
        group if group >= 32 && group % 32 == 0 && (group as usize) < k => group as usize,
        group => return invalid(format!("antiquantGroupSize is {group}; it must be 0 or a multiple of 32 below {k}")),
    };
    let groups = k.div_ceil(group);
    // One number, one per column, or one per group and column.
    let stretch = |view: &View| -> Result<View, nnopbase::status::Failure> {
        let wide = match view.rank() {
            0 => view.unsqueeze(0).unsqueeze(0),
            1 => view.unsqueeze(0),
            _ => view.clone(),
        };
        super::checks::stretch(&wide, &[groups, n])
    };
    let scale = stretch(&rule.scale)?;
    let offset = rule.offset.as_ref().map(stretch).transpose()?;
    let bias = rule.bias.as_ref().map(|bias| super::checks::stretch(bias, &[m, n])).transpose()?;
    if y.count() == 0 {
        return Ok(Plan::nothing());
    }
    Plan::new().reads([&x, &weight, &scale]).reads(&offset).reads(&bias).writes([&y]).run(move |memory| {
        let a: Vec<f32> = memory.tensor(&x).to_vec();
        let mut w: Vec<f32> = memory.tensor(&weight).to_vec();
        let scales: Vec<f32> = memory.tensor(&scale).to_vec();
        let offsets: Option<Vec<f32>> = offset.as_ref().map(|view| memory.tensor(view).to_vec());
        for (at, value) in w.iter_mut().enumerate() {
            let coefficient = at / n / group * n + at % n;
            *value = (*value + offsets.as_ref().map_or(0.0, |offsets| offsets[coefficient])) * scales[coefficient];
        }
        let mut result: Vec<f32> = bias.as_ref().map_or_else(|| vec![0.0; m * n], |view| memory.tensor(view).to_vec());
        let c = Matrix { start: result.as_mut_ptr().cast_const(), strides: [n as isize, 1] };
        let a = Matrix { start: a.as_ptr(), strides: [k as isize, 1] };
        let w = Matrix { start: w.as_ptr(), strides: [n as isize, 1] };
        multiply_parallel(Sizes { m, k, n }, 1.0, a, w, 1.0, c);
        memory.tensor(&y).write(0, &result);
    })
}

/// A weight stays as it is: products read plain matrices.
pub fn keep_weight(weight: View) -> Planned {
    rank(&weight, 2..=6)?;
    Ok(Plan::nothing())
}
