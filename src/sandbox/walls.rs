//! The second wall, around a worker that should not need it: it may read and write its pipes, manage its
//! memory, and nothing else of the system.
//!
//! What a kernel lacks is said, and the first wall stands without it.

#[cfg(target_os = "linux")]
mod linux;

/// Raises what must stand before anything is loaded, and says what could not be raised.
pub(super) fn before() -> Vec<String> {
    #[cfg(target_os = "linux")]
    return linux::before();
    #[cfg(not(target_os = "linux"))]
    return vec!["the walls of Linux".to_owned()];
}

/// Raises what would be in the way of loading, and says what could not be raised.
pub(super) fn after() -> Vec<String> {
    #[cfg(target_os = "linux")]
    return linux::after();
    #[cfg(not(target_os = "linux"))]
    return Vec::new();
}
