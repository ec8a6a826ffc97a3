//! Keys: handles of all objects that the engine gives to a program.
//!
//! A key names a kind of object, not a type, so code that stores or compares keys does not import what is behind them.
//! The number of the kind is part of every handle, so a look-up never finds an object of another kind. Numbers 4 to 10
//! belong to objects of the C API; 8 and 9 of them are channels and shared buffers (`softacl-queues`).

use softacl_sync::graph_event;
use softacl_sync::handle::{HandleKind, Key};
use softacl_sync::lane::Point;

macro_rules! kinds {
    ($($(#[$doc:meta])* $tag:ident = $number:literal, $key:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $tag {}

        impl HandleKind for $tag {
            const NUMBER: u8 = $number;
        }

        $(#[$doc])*
        pub type $key = Key<$tag>;
    )*};
}

kinds! {
    /// The handle of a stream.
    StreamTag = 1, StreamKey;
    /// The handle of an event.
    EventTag = 2, EventKey;
    /// The handle of a context.
    ContextTag = 3, ContextKey;
    /// The handle of a captured graph.
    GraphTag = 11, GraphKey;
    /// The handle of a task group.
    GroupTag = 12, GroupKey;
    /// The handle of the value that a conditional task tests.
    ConditionTag = 13, ConditionKey;
    /// The handle of a notify.
    NotifyTag = 14, NotifyKey;
    /// The handle of a memory pool.
    PoolTag = 15, PoolKey;
    /// The handle of a part of a graph: a label, a list of labels, a stream or a task. One kind, because the number of
    /// a kind has four bits, and no other is left.
    PartTag = 0, PartKey;
}

/// A task of a stream, and everything before it in that stream.
pub(crate) type StreamPoint = Point<StreamKey>;

/// Event state that graphs share with streams outside them.
pub(crate) type GraphEvent = graph_event::GraphEvent<StreamKey>;
