//! Which traces are wanted.

use crate::domain::{
    address::escaped, error::ApiError, id::PersonaId, message::ConversationKind, run::RunStatus,
};

/// Which traces are wanted: those to which all of it applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFilter {
    /// Of this persona.
    pub persona: Option<PersonaId>,
    /// Of this model.
    pub model: Option<String>,
    /// Asked for here.
    pub source: Option<ConversationKind>,
    /// That stand so.
    pub status: Option<RunStatus>,
    /// Only those in which something went wrong or was cut short.
    pub only_errors: bool,
    /// That cost at least so many millionths of a dollar.
    pub min_cost_micros: Option<u64>,
    /// That took at least so long.
    pub min_duration_ms: Option<u64>,
}

/// The same as a person types it into a form, or an address has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct TraceWords {
    /// A persona's identifier.
    pub persona: String,
    /// A model.
    pub model: String,
    /// A kind of conversation.
    pub source: String,
    /// Anything, for only those that went wrong.
    pub errors: String,
    /// Dollars.
    pub cost: String,
    /// Seconds.
    pub seconds: String,
}

impl TraceWords {
    /// What was meant.
    pub fn parse(&self) -> Result<TraceFilter, ApiError> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let source = given(&self.source).map(|word| {
            let found = super::SOURCES.into_iter().find(|kind| kind.word() == word);
            found.ok_or_else(|| {
                ApiError::invalid("source", format!("“{word}” is no source of traces."))
            })
        });
        Ok(TraceFilter {
            persona: given(&self.persona).map(PersonaId::new),
            model: given(&self.model),
            source: source.transpose()?,
            status: None,
            only_errors: !self.errors.is_empty(),
            min_cost_micros: amount("cost", "The least cost", &self.cost, 1_000_000.0)?,
            min_duration_ms: amount("seconds", "The least duration", &self.seconds, 1000.0)?,
        })
    }

    /// As it stands in an address, without the question mark.
    pub fn query(&self) -> String {
        let Self { persona, model, source, errors, cost, seconds } = self;
        let named = [
            ("persona", persona),
            ("model", model),
            ("source", source),
            ("errors", errors),
            ("cost", cost),
            ("seconds", seconds),
        ];
        let given = named.into_iter().filter(|(_, value)| !value.is_empty());
        let parts: Vec<String> =
            given.map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        parts.join("&")
    }
}

/// A number that is not negative, in a smaller unit.
fn amount(field: &str, label: &str, text: &str, unit: f64) -> Result<Option<u64>, ApiError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let number: Option<f64> = text.replace(',', ".").parse().ok();
    match number.filter(|number| number.is_finite() && (0.0..1e9).contains(number)) {
        Some(number) => Ok(Some((number * unit).round() as u64)),
        None => Err(ApiError::invalid(field, format!("{label} must be a number such as 0.5."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_understood_or_refused_with_a_sentence() {
        let words = TraceWords {
            model: " demo ".into(),
            source: "chat".into(),
            errors: "1".into(),
            cost: "0,5".into(),
            seconds: "1.25".into(),
            ..TraceWords::default()
        };

        let meant = TraceFilter {
            model: Some("demo".into()),
            source: Some(ConversationKind::Chat),
            only_errors: true,
            min_cost_micros: Some(500_000),
            min_duration_ms: Some(1250),
            ..TraceFilter::default()
        };
        assert_eq!(words.parse(), Ok(meant));
        let refused = |words: TraceWords| words.parse().unwrap_err().to_string();
        let cost = |cost: &str| TraceWords { cost: cost.into(), ..TraceWords::default() };
        for odd in ["much", "-1", "NaN", "inf", "1e300"] {
            assert_eq!(refused(cost(odd)), "The least cost must be a number such as 0.5.");
        }
        let source = TraceWords { source: "moon".into(), ..TraceWords::default() };
        assert_eq!(refused(source), "“moon” is no source of traces.");
    }

    #[test]
    fn an_address_says_the_same_again() {
        let model = "ollama/qwen3:4b&x=1";
        let words = TraceWords { model: model.into(), errors: "1".into(), ..TraceWords::default() };

        assert_eq!(words.query(), "model=ollama/qwen3:4b%26x%3D1&errors=1");
        assert_eq!(TraceWords::default().query(), "");
    }
}
