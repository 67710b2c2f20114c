//! What quasi-Newton methods share: the estimate of the inverse Hessian and the search for a
//! descent direction at kinks. The methods themselves are one file each, one floor up.

mod direction;
mod memory;

pub(super) use direction::{Effort, descent_direction};
pub(super) use memory::LimitedMemory;
