//! Sets the soname that clients are linked against, which is also the name of the file.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhccl.so");
}
