//! Pure decisions: container allocators and the life-cycle machine.
