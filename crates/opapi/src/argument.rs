//! Arguments of phase one: handles become views, scalars and arrays, copied while the table of objects is locked.

use crate::core::scalar::Scalar;
use crate::core::types::Type;
use crate::core::view::View;
use nnopbase::access::unknown;
use nnopbase::objects::{self, Object, Role, Slot};
use nnopbase::program::read_text;
use nnopbase::status::Failure;
use nnopbase::table::{Table, table};
use std::sync::MutexGuard;

/// Maximum rank of a tensor that an operator accepts.
const MAX_RANK: usize = 8;
/// Longest name of a layout or mode.
const MAX_TEXT: usize = 256;
/// Formats whose elements are in the order of the dimensions.
const PLAIN_FORMATS: [i32; 9] = [-1, 0, 1, 2, 16, 27, 30, 35, 47];
const FRACTAL_NZ: i32 = 29;
/// Formats that a chip computes in, with their names in the C enumeration.
const TILED_FORMATS: [(i32, &str); 10] = [
    (3, "NC1HWC0"),
    (4, "FRACTAL_Z"),
    (12, "NC1HWC0_C04"),
    (FRACTAL_NZ, "FRACTAL_NZ"),
    (32, "NDC1HWC0"),
    (33, "FRACTAL_Z_3D"),
    (50, "FRACTAL_NZ_C0_16"),
    (51, "FRACTAL_NZ_C0_32"),
    (52, "FRACTAL_NZ_C0_2"),
    (53, "FRACTAL_NZ_C0_4"),
];

/// The arguments of one call, read one after another.
pub struct Arguments {
    pub(crate) table: MutexGuard<'static, Table>,
    pub(crate) slots: Vec<Slot>,
    argument: usize,
}

impl Arguments {
    pub fn new() -> Arguments {
        Arguments { table: table(), slots: Vec::with_capacity(4), argument: 0 }
    }

    /// Reads a required tensor. `types` is the set of documented types; a tiled weight is read as a plain matrix.
    pub fn tensor(
        &mut self,
        handle: usize,
        name: &'static str,
        role: Role,
        types: u32,
        is_weight: bool,
    ) -> Result<View, Failure> {
        match self.optional_tensor(handle, name, role, types, is_weight)? {
            Some(view) => Ok(view),
            None => Err(Failure::Null(name)),
        }
    }

    pub fn optional_tensor(
        &mut self,
        handle: usize,
        name: &'static str,
        role: Role,
        types: u32,
        is_weight: bool,
    ) -> Result<Option<View>, Failure> {
        let argument = self.next();
        if handle == 0 {
            self.slots.push(Slot { argument, member: None, role, address: None });
            return Ok(None);
        }
        let view = self.view(handle, name, types, is_weight)?;
        let Some(Object::Tensor(tensor)) = self.table.get(handle) else { return Err(unknown(handle, "tensor")) };
        self.slots.push(Slot { argument, member: None, role, address: Some(tensor.address) });
        Ok(Some(view))
    }

    /// Reads a list of tensors. NULL is an empty list if the argument is optional.
    pub fn tensors(
        &mut self,
        handle: usize,
        name: &'static str,
        role: Role,
        types: u32,
        is_optional: bool,
    ) -> Result<Vec<View>, Failure> {
        let argument = self.next();
        if handle == 0 && is_optional {
            return Ok(Vec::new());
        }
        if handle == 0 {
            return Err(Failure::Null(name));
        }
        let Some(Object::TensorList(members)) = self.table.get(handle) else { return Err(unknown(handle, "list")) };
        let members = members.clone();
        let mut views = Vec::with_capacity(members.len());
        for (at, member) in members.into_iter().enumerate() {
            views.push(self.view(member, name, types, true)?);
            let Some(Object::Tensor(tensor)) = self.table.get(member) else { return Err(unknown(member, "tensor")) };
            self.slots.push(Slot { argument, member: Some(at), role, address: Some(tensor.address) });
        }
        Ok(views)
    }

    /// Counts a tensor that the operator does not use.
    pub fn unused_tensor(&mut self, handle: usize, role: Role) {
        let argument = self.next();
        let address = match self.table.get(handle) {
            Some(Object::Tensor(tensor)) => Some(tensor.address),
            _ => None,
        };
        self.slots.push(Slot { argument, member: None, role, address });
    }

    pub fn scalar(&self, handle: usize, name: &'static str) -> Result<Scalar, Failure> {
        self.optional_scalar(handle)?.ok_or(Failure::Null(name))
    }

    pub fn optional_scalar(&self, handle: usize) -> Result<Option<Scalar>, Failure> {
        if handle == 0 {
            return Ok(None);
        }
        match self.table.get(handle) {
            Some(Object::Scalar(scalar)) => scalar_of(scalar).map(Some),
            _ => Err(unknown(handle, "scalar")),
        }
    }

    /// Reads a list of scalars.
    pub fn scalars(&self, handle: usize, name: &'static str) -> Result<Vec<Scalar>, Failure> {
        if handle == 0 {
            return Err(Failure::Null(name));
        }
        match self.table.get(handle) {
            Some(Object::ScalarList(members)) => members.iter().map(|member| self.scalar(*member, name)).collect(),
            _ => Err(unknown(handle, "list of scalars")),
        }
    }

    pub fn integers(&self, handle: usize, name: &'static str) -> Result<Vec<i64>, Failure> {
        self.optional_integers(handle)?.ok_or(Failure::Null(name))
    }

    pub fn optional_integers(&self, handle: usize) -> Result<Option<Vec<i64>>, Failure> {
        if handle == 0 {
            return Ok(None);
        }
        match self.table.get(handle) {
            Some(Object::IntArray(values)) => Ok(Some(values.clone())),
            _ => Err(unknown(handle, "array of integers")),
        }
    }

    /// Reads a string. NULL is empty.
    pub fn text(&self, address: usize, name: &'static str) -> Result<String, Failure> {
        if address == 0 {
            return Ok(String::new());
        }
        Ok(String::from_utf8_lossy(&read_text(address, MAX_TEXT, name)?).into_owned())
    }

    pub fn data_type(&self, code: i32, name: &'static str) -> Result<Type, Failure> {
        Type::from_code(code).ok_or_else(|| Failure::Invalid(format!("{name} is {code}, a type that no operator has")))
    }

    fn next(&mut self) -> usize {
        self.argument += 1;
        self.argument - 1
    }

    /// The view of a tensor that becomes the next slot.
    fn view(&self, handle: usize, name: &'static str, types: u32, is_weight: bool) -> Result<View, Failure> {
        let Some(Object::Tensor(tensor)) = self.table.get(handle) else { return Err(unknown(handle, "tensor")) };
        let kind = Type::from_code(tensor.kind).ok_or_else(|| {
            Failure::Invalid(format!("{name} has type {}, with which no operator computes", tensor.kind))
        })?;
        if types & kind.bit() == 0 {
            return Err(Failure::Invalid(format!("{name} has type {kind}, which the operator does not accept")));
        }
        if tensor.dims.len() > MAX_RANK {
            let rank = tensor.dims.len();
            return Err(Failure::Invalid(format!("{name} has {rank} dimensions; operators accept {MAX_RANK}")));
        }
        if !(PLAIN_FORMATS.contains(&tensor.format) || is_weight && tensor.format == FRACTAL_NZ) {
            let tiled = TILED_FORMATS.iter().find(|(code, _)| *code == tensor.format);
            let format = tiled.map_or_else(
                || format!("unknown format {}", tensor.format),
                |(_, known)| format!("tiled format {known}"),
            );
            return Err(Failure::Invalid(format!(
                "{name} has the {format}; softacl has plain formats (ND, NCHW, NHWC, NCDHW and alike)"
            )));
        }
        let mut elements = 1_i64;
        for dim in &tensor.dims {
            elements = elements.checked_mul((*dim).max(1)).filter(|count| *count < 1 << 48).ok_or_else(|| {
                Failure::Invalid(format!("{name} with dimensions {:?} has too many elements", tensor.dims))
            })?;
        }
        let reach = tensor.dims.iter().zip(&tensor.strides).try_fold(tensor.offset, |sum, (dim, stride)| {
            (dim - 1).max(0).checked_mul(*stride).and_then(|reach| reach.checked_add(sum)).filter(|sum| *sum < 1 << 48)
        });
        if reach.is_none() {
            return Err(Failure::Invalid(format!("{name} with strides {:?} reaches too far", tensor.strides)));
        }
        Ok(View {
            slot: self.slots.len(),
            name,
            kind,
            dims: tensor.dims.iter().map(|dim| *dim as usize).collect(),
            strides: tensor.strides.iter().map(|stride| *stride as isize).collect(),
            offset: tensor.offset as isize,
            format: tensor.format,
        })
    }
}

fn scalar_of(scalar: &objects::Scalar) -> Result<Scalar, Failure> {
    match Type::from_code(scalar.kind) {
        Some(kind) if kind != Type::I4 => Ok(Scalar::new(kind, &scalar.value)),
        _ => Err(Failure::Invalid(format!("a scalar has type {}, with which no operator computes", scalar.kind))),
    }
}
