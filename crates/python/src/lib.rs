//! The Python module `acl`, compatible with pyACL.
//!
//! It is built on the C API: every function is looked up in `libascendcl.so` at import, so Python and a C++ extension
//! in one process share one engine. Most functions are rows of `table`; those with dictionaries, callbacks or buffers
//! have separate modules.
//!
//! As in pyACL, parameters are positional only, pointers and handles are integers, failures are returned as codes
//! instead of exceptions, and the module defines no constants. `batch` holds the extensions that pyACL does not have.

mod arguments;
mod batch;
mod callback;
mod function;
mod kernels;
mod library;
mod structs;
mod table;
mod toplevel;
mod util;

use pyo3::prelude::*;
use pyo3::types::PyModule;

#[pymodule]
fn acl(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    library::load()?;
    table::add(module, "acl", table::TOP)?;
    toplevel::add(module)?;
    let rt = submodule(module, "rt")?;
    table::add(&rt, "acl.rt", table::RT)?;
    structs::add(&rt)?;
    callback::add(&rt)?;
    batch::add(&rt)?;
    kernels::add(&rt)?;
    util::add(&submodule(module, "util")?)?;
    table::add(&submodule(module, "media")?, "acl.media", table::MEDIA)?;
    // Models, operators and profiling are not implemented. Programs can import these modules; they are empty.
    for name in ["mdl", "op", "blas", "prof", "himpi", "fv"] {
        submodule(module, name)?;
    }
    py.import("sys")?.getattr("modules")?.set_item("acl", module)
}

/// Adds a submodule that can be imported by its dotted name although `acl` is not a package.
fn submodule<'py>(parent: &Bound<'py, PyModule>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    let py = parent.py();
    let dotted = format!("acl.{name}");
    let module = PyModule::new(py, &dotted)?;
    parent.add(name, &module)?;
    py.import("sys")?.getattr("modules")?.set_item(dotted, &module)?;
    Ok(module)
}
