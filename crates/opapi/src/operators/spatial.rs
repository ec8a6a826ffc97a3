//! Convolutions, poolings and resizes: windows over the last dimensions.

use super::checks::{Checked, cube_math, invalid, rank, shape, size};
use super::matmul::{Matrix, Sizes, multiply_parallel};
use crate::core::parallel::divide;
use crate::core::plan::{Plan, Planned};
use crate::core::value::{Real, Value, with_real};
use crate::core::view::View;

/// Format code of channels-last tensors.
const NHWC: i32 = 1;

/// Two numbers from an array of one or two; `default` if it is empty.
fn pair(values: &[i64], default: [usize; 2], name: &str) -> Checked<[usize; 2]> {
    match values {
        [] => Ok(default),
        [both] => Ok([size(*both, name)?; 2]),
        [first, second] => Ok([size(*first, name)?, size(*second, name)?]),
        _ => invalid(format!("{name} has {} elements; it must have 1 or 2", values.len())),
    }
}

/// A tensor as (N, C, H, W), whatever its format and rank are.
fn images(view: &View) -> Checked<View> {
    rank(view, 3..=4)?;
    let view = if view.rank() == 3 { view.unsqueeze(0) } else { view.clone() };
    Ok(if view.format == NHWC { view.permute(&[0, 3, 1, 2]) } else { view })
}

/// Windows along one dimension.
#[derive(Debug, Clone, Copy)]
struct Windows {
    size: usize,
    stride: usize,
    before: usize,
    after: usize,
    count: usize,
}

impl Windows {
    fn new(length: usize, size: usize, stride: usize, before: usize, after: usize, ceil: bool) -> Checked<Windows> {
        if size == 0 || stride == 0 || length + before + after < size {
            return invalid(format!("a window of {size} with stride {stride} does not fit into {length}"));
        }
        let room = length + before + after - size;
        let mut count = if ceil { room.div_ceil(stride) } else { room / stride } + 1;
        // The last window starts inside of the tensor or of its left padding.
        if ceil && (count - 1) * stride >= length + before {
            count -= 1;
        }
        Ok(Windows { size, stride, before, after, count })
    }

    /// Positions of a window: with padding, and inside of the tensor.
    fn range(&self, index: usize, length: usize) -> (usize, std::ops::Range<usize>) {
        let start = index * self.stride;
        let end = (start + self.size).min(length + self.before + self.after);
        let inside = start.saturating_sub(self.before)..end.saturating_sub(self.before).min(length);
        (end - start, inside)
    }
}

/// What becomes of a window.
#[derive(Debug, Clone, Copy)]
enum Pooling {
    Max,
    Mean { counts_padding: bool, divisor: Option<f64> },
}

pub fn average_pool(
    x: View,
    kernel: Vec<i64>,
    strides: Vec<i64>,
    paddings: Vec<i64>,
    [ceil, counts_padding]: [bool; 2],
    divisor: i64,
    cube: i8,
    out: View,
) -> Planned {
    cube_math(cube)?;
    let kernel = pair(&kernel, [0, 0], "kernelSize")?;
    let stride = pair(&strides, kernel, "strides")?;
    let padding = pair(&paddings, [0, 0], "paddings")?;
    if padding[0] > kernel[0] / 2 || padding[1] > kernel[1] / 2 {
        return invalid(format!("paddings {padding:?} are more than half of kernelSize {kernel:?}"));
    }
    let divisor = (divisor != 0).then_some(divisor as f64);
    pool(
        Pooling::Mean { counts_padding, divisor },
        x,
        kernel,
        stride,
        [padding[0], padding[1], padding[0], padding[1]],
        ceil,
        out,
    )
}

pub fn max_pool(
    x: View,
    kernel: Vec<i64>,
    strides: Vec<i64>,
    auto_pad: i64,
    pads: Vec<i64>,
    dilations: Vec<i64>,
    ceil: i64,
    out: View,
) -> Planned {
    if auto_pad != 0 || dilations.iter().any(|dilation| *dilation != 1) {
        return invalid(format!("autoPad is {auto_pad} and dilations are {dilations:?}; they must be 0 and 1"));
    }
    let kernel = pair(&kernel, [0, 0], "kernelShape")?;
    let stride = pair(&strides, [1, 1], "strides")?;
    let sides = match &pads[..] {
        [top, left, bottom, right] => {
            [size(*top, "pads")?, size(*left, "pads")?, size(*bottom, "pads")?, size(*right, "pads")?]
        }
        pads => pair(pads, [0, 0], "pads").map(|[height, width]| [height, width, height, width])?,
    };
    pool(Pooling::Max, x, kernel, stride, sides, ceil != 0, out)
}

fn pool(
    how: Pooling,
    x: View,
    kernel: [usize; 2],
    stride: [usize; 2],
    sides: [usize; 4],
    ceil: bool,
    out: View,
) -> Planned {
    let (x, out) = (images(&x)?, images(&out)?);
    let (height, width) = (x.dims[2], x.dims[3]);
    let rows = Windows::new(height, kernel[0], stride[0], sides[0], sides[2], ceil)?;
    let columns = Windows::new(width, kernel[1], stride[1], sides[1], sides[3], ceil)?;
    shape(&out, &[x.dims[0], x.dims[1], rows.count, columns.count])?;
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    let class = x.kind.class();
    Plan::new().reads([&x]).writes([&out]).run(move |memory| {
        let (from, to) = (memory.tensor(&x), memory.tensor(&out));
        divide(x.dims[0] * x.dims[1], 4, 1, |part| {
            for plane in part {
                with_real!(class, V => {
                    let mut image = vec![V::default(); height * width];
                    from.read(plane * height * width, &mut image);
                    let mut result = Vec::with_capacity(rows.count * columns.count);
                    for row in 0..rows.count {
                        for column in 0..columns.count {
                            let ((tall, ys), (wide, xs)) = (rows.range(row, height), columns.range(column, width));
                            let cells = ys.clone().flat_map(|y| image[y * width + xs.start..y * width + xs.end].iter());
                            result.push(match how {
                                Pooling::Max => cells.fold(V::lowest(), |best, cell| if cell.is_nan() { *cell } else { Real::max(best, *cell) }),
                                Pooling::Mean { counts_padding, divisor } => {
                                    let sum: f64 = cells.map(|cell| cell.to_f64()).sum();
                                    let inside = ys.len() * xs.len();
                                    let count = if counts_padding { tall * wide } else { inside };
                                    V::from_f64(sum / divisor.unwrap_or(count as f64))
                                }
                            });
                        }
                    }
                    to.write(plane * rows.count * columns.count, &result);
                }, complex => {})
            }
        });
    })
}

/// Columns of windows: (N, C, H, W) becomes (N, C * kh * kw, L).
pub fn unfold(
    x: View,
    kernel: Vec<i64>,
    dilation: Vec<i64>,
    padding: Vec<i64>,
    stride: Vec<i64>,
    out: View,
) -> Planned {
    let x = images(&x)?;
    let [kernel, dilation] = [pair(&kernel, [0, 0], "kernelSize")?, pair(&dilation, [1, 1], "dilation")?];
    let [padding, stride] = [pair(&padding, [0, 0], "padding")?, pair(&stride, [1, 1], "stride")?];
    let mut counts = [0; 2];
    for axis in 0..2 {
        let reach = dilation[axis] * kernel[axis].saturating_sub(1) + 1;
        counts[axis] = Windows::new(x.dims[2 + axis], reach, stride[axis], padding[axis], padding[axis], false)?.count;
    }
    let columns = x.dims[1] * kernel[0] * kernel[1];
    let wanted = [x.dims[0], columns, counts[0] * counts[1]];
    shape(&out, if out.rank() == 2 { &wanted[1..] } else { &wanted })?;
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    super::checks::same_type(&x, &out)?;
    Plan::new().reads([&x]).writes([&out]).run(move |memory| {
        let (from, to) = (memory.tensor(&x), memory.tensor(&out));
        let (height, width) = (x.dims[2], x.dims[3]);
        let mut at = 0;
        for image in 0..x.dims[0] {
            for column in 0..columns {
                let (channel, ky, kx) =
                    (column / (kernel[0] * kernel[1]), column / kernel[1] % kernel[0], column % kernel[1]);
                for row in 0..counts[0] {
                    for place in 0..counts[1] {
                        let y = (row * stride[0] + ky * dilation[0]).checked_sub(padding[0]).filter(|y| *y < height);
                        let z = (place * stride[1] + kx * dilation[1]).checked_sub(padding[1]).filter(|z| *z < width);
                        match (y, z) {
                            (Some(y), Some(z)) => {
                                let source = ((image * x.dims[1] + channel) * height + y) * width + z;
                                crate::core::memory::copy(&from, source, &to, at, 1);
                            }
                            _ => to.write(at, &[0_i64]),
                        }
                        at += 1;
                    }
                }
            }
        }
    })
}

/// Each element of the result is the nearest one of the tensor, towards the start.
pub fn upsample_nearest(x: View, sizes: Vec<i64>, out: View) -> Planned {
    rank(&x, 4..=4)?;
    let (x, out) = (images(&x)?, images(&out)?);
    let [height, width] = pair(&sizes, [0, 0], "outputSize")?;
    shape(&out, &[x.dims[0], x.dims[1], height, width])?;
    super::checks::same_type(&x, &out)?;
    if out.count() == 0 || x.count() == 0 {
        return Ok(Plan::nothing());
    }
    Plan::new().reads([&x]).writes([&out]).run(move |memory| {
        let (from, to) = (memory.tensor(&x), memory.tensor(&out));
        let nearest =
            |at: usize, from: usize, to: usize| ((at as f32 * (from as f32 / to as f32)) as usize).min(from - 1);
        divide(x.dims[0] * x.dims[1], 4, 1, |part| {
            for plane in part {
                for row in 0..height {
                    let y = nearest(row, x.dims[2], height);
                    for column in 0..width {
                        let z = nearest(column, x.dims[3], width);
                        let source = (plane * x.dims[2] + y) * x.dims[3] + z;
                        crate::core::memory::copy(&from, source, &to, (plane * height + row) * width + column, 1);
                    }
                }
            }
        });
    })
}

/// Numbers of a convolution.
#[derive(Debug, Clone)]
pub struct Convolution {
    pub stride: Vec<i64>,
    pub padding: Vec<i64>,
    pub dilation: Vec<i64>,
    pub is_transposed: bool,
    pub output_padding: Vec<i64>,
    pub groups: i64,
}

/// Convolution of 1 to 3 spatial dimensions, as a product with the columns of its windows.
pub fn convolve(rule: Convolution, x: View, weight: View, bias: Option<View>, out: View, cube: i8) -> Planned {
    cube_math(cube)?;
    rank(&x, 3..=5)?;
    rank(&weight, x.rank()..=x.rank())?;
    rank(&out, x.rank()..=x.rank())?;
    let spatial = x.rank() - 2;
    let mut list = Vec::new();
    for (values, name) in [(&rule.stride, "stride"), (&rule.dilation, "dilation")] {
        if values.len() != spatial || values.iter().any(|value| *value < 1) {
            return invalid(format!("{name} {values:?} is not {spatial} positive numbers"));
        }
        list.push(values.iter().map(|value| *value as usize).collect::<Vec<usize>>());
    }
    let (dilation, stride) = (list.remove(1), list.remove(0));
    let padding = rule.padding.iter().map(|value| size(*value, "padding")).collect::<Checked<Vec<usize>>>()?;
    let ends: Vec<[usize; 2]> = match padding.len() {
        count if count == spatial => padding.iter().map(|both| [*both, *both]).collect(),
        count if count == 2 * spatial => padding.chunks(2).map(|ends| [ends[0], ends[1]]).collect(),
        count => return invalid(format!("padding has {count} elements for {spatial} dimensions")),
    };
    let groups = size(rule.groups, "groups")?;
    let (channels, outs) = (x.dims[1], out.dims[1]);
    let (weight_in, weight_out) = if rule.is_transposed {
        (weight.dims[0], weight.dims[1] * groups)
    } else {
        (weight.dims[1] * groups, weight.dims[0])
    };
    if groups == 0 || channels % groups != 0 || outs % groups != 0 || weight_in != channels || weight_out != outs {
        return invalid(format!(
            "input {:?}, weight {:?} and output {:?} do not agree in {groups} groups",
            x.dims, weight.dims, out.dims
        ));
    }
    if let Some(bias) = &bias {
        shape(bias, &[outs])?;
    }
    let kernel: Vec<usize> = weight.dims[2..].to_vec();
    let mut wanted = vec![x.dims[0], outs];
    for axis in 0..spatial {
        let (length, reach) = (x.dims[2 + axis], dilation[axis] * kernel[axis].saturating_sub(1) + 1);
        let padded = ends[axis][0] + ends[axis][1];
        let more = rule.output_padding.get(axis).map_or(0, |more| usize::try_from(*more).unwrap_or(0));
        let size = if rule.is_transposed {
            (length.saturating_sub(1) * stride[axis] + reach + more).checked_sub(padded)
        } else {
            (length + padded).checked_sub(reach).map(|room| room / stride[axis] + 1)
        };
        wanted.push(size.unwrap_or(0));
    }
    shape(&out, &wanted)?;
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    let before: Vec<usize> = ends.iter().map(|ends| ends[0]).collect();
    // The side with the windows, and the side with one place per window. A transposed convolution swaps them.
    let (windowed, places) = if rule.is_transposed { (&out, &x) } else { (&x, &out) };
    let (space, count) = (windowed.dims[2..].to_vec(), places.dims[2..].to_vec());
    let is_transposed = rule.is_transposed;
    Plan::new().reads([&x, &weight]).reads(&bias).writes([&out]).run(move |memory| {
        let w: Vec<f32> = memory.tensor(&weight).to_vec();
        let bias: Option<Vec<f32>> = bias.as_ref().map(|view| memory.tensor(view).to_vec());
        let (taps, spots): (usize, usize) = (kernel.iter().product(), count.iter().product());
        let area: usize = space.iter().product();
        let (from, to) = (memory.tensor(&x), memory.tensor(&out));
        let (in_group, out_group) = (channels / groups, outs / groups);
        // Where tap `t` of the window at place `p` is, if it is not in the padding.
        let position = |place: usize, tap: usize| -> Option<usize> {
            let (mut place, mut tap, mut index, mut factor) = (place, tap, 0, 1);
            for axis in (0..kernel.len()).rev() {
                let at = place % count[axis] * stride[axis] + tap % kernel[axis] * dilation[axis];
                index += at.checked_sub(before[axis]).filter(|at| *at < space[axis])? * factor;
                factor *= space[axis];
                place /= count[axis];
                tap /= kernel[axis];
            }
            Some(index)
        };
        for image in 0..x.dims[0] {
            let mut planes = vec![0_f32; channels * x.dims[2..].iter().product::<usize>()];
            from.read(image * planes.len(), &mut planes);
            let mut result = vec![0_f32; outs * out.dims[2..].iter().product::<usize>()];
            for group in 0..groups {
                let inner = if is_transposed { out_group } else { in_group } * taps;
                let mut columns = vec![0_f32; inner * spots];
                if is_transposed {
                    // columns = weight^T (inner, in_group) * planes (in_group, spots), then added at their positions
                    let a = Matrix { start: w[group * in_group * inner..].as_ptr(), strides: [1, inner as isize] };
                    let b = Matrix { start: planes[group * in_group * spots..].as_ptr(), strides: [spots as isize, 1] };
                    let c = Matrix { start: columns.as_mut_ptr().cast_const(), strides: [spots as isize, 1] };
                    multiply_parallel(Sizes { m: inner, k: in_group, n: spots }, 1.0, a, b, 0.0, c);
                    for line in 0..inner {
                        let plane = &mut result[(group * out_group + line / taps) * area..][..area];
                        for place in 0..spots {
                            if let Some(at) = position(place, line % taps) {
                                plane[at] += columns[line * spots + place];
                            }
                        }
                    }
                } else {
                    for line in 0..inner {
                        let plane = &planes[(group * in_group + line / taps) * area..][..area];
                        for place in 0..spots {
                            columns[line * spots + place] = position(place, line % taps).map_or(0.0, |at| plane[at]);
                        }
                    }
                    let a = Matrix { start: w[group * out_group * inner..].as_ptr(), strides: [inner as isize, 1] };
                    let b = Matrix { start: columns.as_ptr(), strides: [spots as isize, 1] };
                    let target = &mut result[group * out_group * spots..][..out_group * spots];
                    let c = Matrix { start: target.as_mut_ptr().cast_const(), strides: [spots as isize, 1] };
                    multiply_parallel(Sizes { m: out_group, k: inner, n: spots }, 1.0, a, b, 0.0, c);
                }
            }
            if let Some(bias) = &bias {
                let plane = result.len() / outs;
                result.iter_mut().enumerate().for_each(|(at, value)| *value += bias[at / plane]);
            }
            to.write(image * result.len(), &result);
        }
    })
}
