//! The shared object exports both phases of every operator of the table, and the functions of the objects.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

#[test]
fn every_function_is_exported() {
    let directory = std::env::current_exe().expect("the test has a path");
    let library = directory.parent().expect("it is in a directory").join("libopapi.so");
    let path = CString::new(library.as_os_str().as_bytes()).expect("no zero byte");
    // SAFETY: the library has no initializers.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null(), "{} cannot be loaded", library.display());
    let mut names = Vec::new();
    for row in include_str!("../tables/operators.tsv").lines().filter(|row| !row.starts_with('#')) {
        let name = row.split('\t').next().expect("a row has a name");
        names.extend([name.to_owned(), format!("{name}GetWorkspaceSize")]);
    }
    for row in include_str!("../tables/functions.tsv").lines().filter(|row| !row.starts_with('#')) {
        let name = row.split('(').next().and_then(|head| head.rsplit(' ').next()).expect("a prototype has a name");
        names.push(name.to_owned());
    }
    names.extend(
        ["aclCreateTensor", "aclSetTensorAddr", "aclnnInit", "aclDestroyAclOpExecutor", "aclDumpOpTensors"]
            .map(str::to_owned),
    );
    assert!(names.len() > 1400, "{} names", names.len());
    for name in names {
        let symbol = CString::new(name.as_str()).expect("no zero byte");
        // SAFETY: the handle is that of a loaded library.
        let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
        assert!(!found.is_null(), "{name} is not exported");
    }
}
