//! What a device's memory holds.

mod sealed {
    /// Numbers have the same bytes on both sides.
    pub trait Sealed: Copy + Default + 'static {}
}

/// A number that kernels know: `int`, `uint`, `long`, `ulong`, `float`, `uchar`.
pub trait Number: sealed::Sealed {}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(
            impl sealed::Sealed for $type {}
            impl Number for $type {}
        )*
    };
}

numbers!(u8, i32, u32, i64, u64, f32);
