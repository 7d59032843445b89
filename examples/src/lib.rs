//! Programs that README walks through.
