//! What a persona answered to a test input.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    id::{RunId, TestInputId},
    run::{RunStatus, Spent, StopReason},
    timestamp::Timestamp,
    version::Revision,
};

/// What a persona, as it was at a version, answered to a test input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestAnswer {
    /// The test input.
    pub test_input_id: TestInputId,
    /// The revision of the test input that was answered.
    pub input_revision: Revision,
    /// The version of the persona that answered.
    pub persona_revision: Revision,
    /// The run that did it.
    pub run_id: RunId,
    /// Where the run stands.
    pub status: RunStatus,
    /// Why it ended.
    pub stop: Option<StopReason>,
    /// What went wrong.
    pub error: Option<ApiError>,
    /// The answer; empty while the run goes on.
    pub text: String,
    /// The model that was asked.
    pub model: String,
    /// Tokens, time and money.
    pub spent: Spent,
    /// When it was asked for.
    pub created_at: Timestamp,
}
