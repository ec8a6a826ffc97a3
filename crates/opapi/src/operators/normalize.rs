//! Normalizations: rows, groups or layers are scaled by their own statistics.

use super::checks::{Checked, invalid, same_shape, shape, size};
use super::elementwise::GRAIN;
use crate::core::parallel::divide;
use crate::core::plan::{Plan, Planned};
use crate::core::view::{Dims, View};

/// `y = x / sqrt(mean(x^2) + epsilon) * (gamma + shift)` over the dimensions of gamma.
pub struct RootMeanSquare {
    pub epsilon: f64,
    /// Added to gamma: 1 for Gemma's variant.
    pub shift: f32,
}

/// Plans an RMS norm of `x`, or of `x + residual`, which `sum` receives.
pub fn rms_norm(
    rule: RootMeanSquare,
    x: View,
    residual: Option<View>,
    gamma: View,
    y: View,
    rstd: Option<View>,
    sum: Option<View>,
) -> Planned {
    same_shape(&x, &y)?;
    let Some(leading) = x.rank().checked_sub(gamma.rank()) else {
        return invalid(format!("gamma has {} dimensions, and {} has {}", gamma.rank(), x.name, x.rank()));
    };
    shape(&gamma, &x.dims[leading..])?;
    for view in residual.iter().chain(&sum) {
        same_shape(&x, view)?;
    }
    let width: usize = gamma.count();
    let rows: usize = x.dims[..leading].iter().product();
    if let Some(rstd) = &rstd
        && rstd.count() != rows
    {
        return invalid(format!("{} has shape {:?}; it must have {rows} elements", rstd.name, rstd.dims));
    }
    if x.count() == 0 {
        return Ok(Plan::nothing());
    }
    let plan = Plan::new().reads([&x, &gamma]).reads(&residual).writes([&y]).writes(&rstd).writes(&sum);
    plan.run(move |memory| {
        let scale: Vec<f32> = memory.tensor(&gamma).to_vec();
        let (from, to) = (memory.tensor(&x), memory.tensor(&y));
        let other = residual.as_ref().map(|view| memory.tensor(view));
        let (rstd, sum) = (rstd.as_ref().map(|view| memory.tensor(view)), sum.as_ref().map(|view| memory.tensor(view)));
        divide(rows, (GRAIN / width.max(1)).max(1), 1, |part| {
            let (mut row, mut addend) = (vec![0_f32; width], vec![0_f32; width]);
            for at in part {
                from.read(at * width, &mut row);
                if let Some(other) = &other {
                    other.read(at * width, &mut addend);
                    row.iter_mut().zip(&addend).for_each(|(value, addend)| *value += addend);
                }
                if let Some(sum) = &sum {
                    sum.write(at * width, &row);
                    // The norm is that of the sum as it is stored.
                    sum.read(at * width, &mut row);
                }
                let square: f64 = row.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
                let inverse = 1.0 / (square / width as f64 + rule.epsilon).sqrt();
                if let Some(rstd) = &rstd {
                    rstd.write(at, &[inverse]);
                }
                for (value, gamma) in row.iter_mut().zip(&scale) {
                    *value = (f64::from(*value) * inverse) as f32 * (gamma + rule.shift);
                }
                to.write(at * width, &row);
            }
        });
    })
}

/// Scale and shift of a normalization, each optional.
#[derive(Debug, Clone)]
pub struct Affine {
    pub weight: Option<View>,
    pub bias: Option<View>,
}

/// Where mean and reciprocal deviation go, if they are wanted.
#[derive(Debug, Clone)]
pub struct Statistics {
    pub mean: Option<View>,
    pub rstd: Option<View>,
}

/// Normalizes the trailing dimensions.
pub fn layer_norm(x: View, dims: Vec<i64>, affine: Affine, eps: f64, out: View, statistics: Statistics) -> Planned {
    let dims = dims.iter().map(|dim| size(*dim, "normalizedShape")).collect::<Checked<Dims>>()?;
    if dims.len() > x.rank() || x.dims[x.rank() - dims.len()..] != dims[..] {
        return invalid(format!("normalizedShape {dims:?} is not the end of the shape {:?}", x.dims));
    }
    for view in affine.weight.iter().chain(&affine.bias) {
        shape(view, &dims)?;
    }
    let width: usize = dims.iter().product();
    normalize(x, width, affine, eps, out, statistics, |_, column| column)
}

/// Normalizes groups of channels.
pub fn group_norm(
    x: View,
    affine: Affine,
    [samples, channels, spatial, groups]: [i64; 4],
    eps: f64,
    out: View,
    statistics: Statistics,
) -> Planned {
    let [samples, channels] = [size(samples, "N")?, size(channels, "C")?];
    let [spatial, groups] = [size(spatial, "HxW")?, size(groups, "group")?];
    let count = samples.checked_mul(channels).and_then(|count| count.checked_mul(spatial));
    if groups == 0 || channels % groups != 0 || count != Some(x.count()) {
        return invalid(format!(
            "self with shape {:?} is not N {samples} x C {channels} x HxW {spatial} in {groups} groups",
            x.dims
        ));
    }
    for view in affine.weight.iter().chain(&affine.bias) {
        shape(view, &[channels])?;
    }
    let members = channels / groups;
    normalize(x, members * spatial, affine, eps, out, statistics, move |row, column| {
        row % groups * members + column / spatial.max(1)
    })
}

/// Normalizes rows of `width` elements. `coefficient` says which weight and bias an element of a row has.
fn normalize(
    x: View,
    width: usize,
    affine: Affine,
    eps: f64,
    out: View,
    statistics: Statistics,
    coefficient: impl Fn(usize, usize) -> usize + Send + Sync + 'static,
) -> Planned {
    same_shape(&x, &out)?;
    if x.count() == 0 {
        return Ok(Plan::nothing());
    }
    let rows = x.count() / width;
    for view in statistics.mean.iter().chain(&statistics.rstd) {
        if view.count() != rows {
            return invalid(format!("{} has shape {:?}; it must have {rows} elements", view.name, view.dims));
        }
    }
    let plan = Plan::new().reads([&x]).reads(&affine.weight).reads(&affine.bias);
    plan.writes([&out]).writes(&statistics.mean).writes(&statistics.rstd).run(move |memory| {
        let values = |view: &Option<View>| view.as_ref().map(|view| memory.tensor(view).to_vec::<f32>());
        let (weight, bias) = (values(&affine.weight), values(&affine.bias));
        let (from, to) = (memory.tensor(&x), memory.tensor(&out));
        let [means, deviations] = [&statistics.mean, &statistics.rstd].map(|v| v.as_ref().map(|v| memory.tensor(v)));
        divide(rows, (GRAIN / width).max(1), 1, |part| {
            let mut row = vec![0_f32; width];
            for at in part {
                from.read(at * width, &mut row);
                let mean = row.iter().map(|value| f64::from(*value)).sum::<f64>() / width as f64;
                let square = row.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / width as f64;
                let inverse = 1.0 / (square + eps).sqrt();
                for (column, value) in row.iter_mut().enumerate() {
                    let at = coefficient(at, column);
                    let scaled = ((f64::from(*value) - mean) * inverse) as f32;
                    *value = scaled * weight.as_ref().map_or(1.0, |w| w[at]) + bias.as_ref().map_or(0.0, |b| b[at]);
                }
                to.write(at * width, &row);
                if let Some(means) = &means {
                    means.write(at, &[mean]);
                }
                if let Some(deviations) = &deviations {
                    deviations.write(at, &[inverse]);
                }
            }
        });
    })
}
