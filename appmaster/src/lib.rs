//! Keeps one job alive: registers, asks, starts containers, serves the launchers, finishes.
