//! What a person sets for this browser.

use leptos::prelude::*;

use crate::domain::{error::ApiError, theme::Theme};

/// Remembers the colours in a cookie.
#[server(prefix = "/fn", endpoint = "set_theme")]
pub async fn set_theme(
    /// The colours.
    theme: Theme,
) -> Result<Theme, ApiError> {
    crate::app::platform::remember_theme(theme);
    Ok(theme)
}
