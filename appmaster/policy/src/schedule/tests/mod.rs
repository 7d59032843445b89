//! Policies on small sessions, worked by hand, and what holds for all of them on random ones.

mod bed;
mod dyscale;
mod gangs;
mod gangs_by_turn;
mod hetero;
mod hetero_reference;
mod hpe;
mod hpe_clusters;
mod hpe_conserve;
mod hpe_literal;
mod limits;
mod moves;
mod needs;
mod parked;
mod policies;
mod properties;
mod reservations;
mod wrappers;
