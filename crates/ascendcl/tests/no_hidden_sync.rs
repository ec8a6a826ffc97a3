//! `ascendcl::test::no_hidden_sync` with the bundled softacl.

use ascendcl::Device;
use ascendcl::test::no_hidden_sync;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The message of the panic of a body.
fn panic_of(body: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(body)).expect_err("the body panics");
    *payload.downcast::<String>().expect("a formatted message")
}

#[test]
fn waits_are_reported_with_their_lines() {
    let context = Device::new(0).unwrap().new_context().unwrap();
    let stream = context.new_stream().unwrap();
    let device = context.alloc_zeros::<u8>(64).unwrap();
    let message = panic_of(|| {
        no_hidden_sync(&[], || {
            device.to_vec().unwrap();
            stream.synchronize().unwrap();
        });
    });
    assert!(message.starts_with("2 calls waited:\naclrtMemcpy at "), "{message}");
    assert!(message.contains("no_hidden_sync.rs:") && message.contains("aclrtSynchronizeStream"), "{message}");
    no_hidden_sync(&["aclrtSynchronizeStream"], || stream.synchronize()).unwrap();
    // A panic of the body ends its region.
    assert!(catch_unwind(|| no_hidden_sync(&[], || panic!("of the body"))).is_err());
    stream.synchronize().unwrap();
    no_hidden_sync(&[], || ());
}

#[test]
fn unknown_function_is_refused() {
    let message = panic_of(|| no_hidden_sync(&["aclrtSynchronise"], || ()));
    assert!(message.contains("aclrtSynchronise") && message.contains("not a function"), "{message}");
}
