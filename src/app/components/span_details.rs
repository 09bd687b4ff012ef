//! All that is known of one span.

use leptos::prelude::*;
use serde_json::Value;

use super::span_actions::SpanActions;
use crate::domain::{
    field::grouped,
    id::CallId,
    message::{PartBody, Role},
    run::{StopReason, Usage, told_price, told_time},
    sent::{Sent, SentTool, cached_share},
    tokens::estimate,
    trace::{Retry, Span, Trace, What},
    tree::MAX_COUNTED,
    visible::visible,
};

/// The most characters of one text that a page shows; the API has all of it.
const MAX_SHOWN: usize = 20_000;

/// A name and what is known under it.
type Fact = (&'static str, String);

/// One span.
#[component]
pub fn SpanDetails(
    /// The span.
    span: Span,
    /// The trace it is in.
    trace: Trace,
    /// What the model was sent at the beginning of the run, where that is kept.
    sent: Option<Sent>,
) -> impl IntoView {
    let title = format!("{} {}", span.what.word(), span.name);
    let told = sent.as_ref().map(|sent| {
        sent.sections.iter().map(|section| section.text.as_str()).collect::<Vec<_>>().join("\n\n")
    });
    let system = told.unwrap_or_default();
    let words = sent.as_ref().and_then(|sent| {
        let mut said = sent.messages.iter();
        said.find(|message| message.id == trace.summary.message_id).map(|said| said.text.clone())
    });
    let mut facts: Vec<Fact> = vec![
        ("Began", format!("after {}", told_time(span.start_ms))),
        ("Took", told_time(span.duration_ms)),
    ];
    let body = match &span.what {
        What::Run { .. } => {
            facts.extend(used(trace.summary.usage));
            facts.extend(trace.summary.cost_micros.map(|micros| ("Cost", told_price(micros))));
            ().into_any()
        }
        What::LlmCall { step, .. } => {
            facts.extend(asked(&span, sent.as_ref()));
            let (step, answer) = (*step, answered(&span));
            view! { {answer} {before(&trace, step, sent)} }.into_any()
        }
        What::ToolCall { call, input, tokens } => {
            facts.push(("Tokens given", format!("about {tokens}")));
            view! {
                {text_block("Input", &pretty(input), true)}
                {output(&trace, call)}
            }
            .into_any()
        }
        What::ToolResult { call, tokens, .. } => {
            facts.push(("Tokens given back", format!("about {tokens}")));
            output(&trace, call).into_any()
        }
    };
    view! {
        <section class="card stack span-details" id="span" aria-labelledby="span-title">
            <h2 id="span-title" class="one-line">{title}</h2>
            {span.error.clone().map(|error| view! { <p class="problem">{shortened(&error).0}</p> })}
            <dl class="facts-list small">
                {facts.into_iter().map(|(name, fact)| view! { <div><dt>{name}</dt><dd>{fact}</dd></div> }).collect_view()}
            </dl>
            <SpanActions trace=trace.clone() span=span.clone() system asked=words/>
            {body}
        </section>
    }
}

/// The tokens, and what part of them came from the service's cache.
fn used(usage: Usage) -> Vec<Fact> {
    let known: [(&'static str, Option<u64>); 5] = [
        ("Tokens in", usage.input),
        ("From the cache", usage.cache_read),
        ("Into the cache", usage.cache_write),
        ("Tokens out", usage.output),
        ("Of them, thinking", usage.reasoning),
    ];
    let share = cached_share(usage).map(|share| format!("{:.0} %", share * 100.0));
    let counted =
        known.into_iter().filter_map(|(name, known)| known.map(|known| (name, grouped(known))));
    counted.chain(share.map(|share| ("Cached share", share))).collect()
}

/// With what a model was asked, and what it took.
fn asked(span: &Span, sent: Option<&Sent>) -> Vec<Fact> {
    let What::LlmCall { stop, usage, cost_micros, max_tokens, first_token_ms, retries, .. } =
        &span.what
    else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    facts
        .extend(first_token_ms.map(|first| ("First token", format!("after {}", told_time(first)))));
    facts.push(("Stopped", stop.map_or("cut short", told_stop).to_owned()));
    facts.extend(used(*usage));
    facts.extend(cost_micros.map(|micros| ("Cost", told_price(micros))));
    if let Some(parameters) = sent.and_then(|sent| sent.parameters.as_ref()) {
        facts.push(("Service", parameters.service.clone()));
        facts.push(("Model", parameters.model.clone()));
        let most = max_tokens.unwrap_or(parameters.max_tokens);
        facts.push(("Most tokens out", grouped(most)));
    }
    let again = |retry: &Retry| {
        let wait = told_time(retry.wait_ms);
        ("Asked again", format!("attempt {} after {wait}: {}", retry.attempt, retry.reason))
    };
    facts.extend(retries.iter().map(again));
    facts
}

fn told_stop(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "at its end",
        StopReason::StopSequence => "at a stop word",
        StopReason::ToolUse => "to use tools",
        StopReason::MaxTokens => "at the longest it may be",
        StopReason::PauseTurn => "to be asked to go on",
        StopReason::Refusal => "by refusing",
        StopReason::ContextExceeded => "for want of room",
        StopReason::Limit => "at a limit",
        StopReason::Other => "for another reason",
    }
}

/// What the model was told and sent before it answered.
fn before(trace: &Trace, step: u32, sent: Option<Sent>) -> impl IntoView + use<> {
    let own = said_before(trace, step);
    let Some(sent) = sent else {
        let told = if trace.summary.status.is_over() {
            "What the model was told is not kept of this run."
        } else {
            "What the model was told is kept when the run ends."
        };
        return view! { <p class="faint small">{told}</p> {own} }.into_any();
    };
    let left_out = match sent.left_out {
        0 => None,
        1 => Some("1 earlier message was not sent.".to_owned()),
        count => {
            let more = if count >= MAX_COUNTED { " or more" } else { "" };
            Some(format!("{count}{more} earlier messages were not sent."))
        }
    };
    view! {
        <h3>"Told"</h3>
        {sent.sections.into_iter().map(|section| {
            folded(section.title, Some(section.tokens), &section.text)
        }).collect_view()}
        {tools(sent.tools)}
        <h3>"Sent"</h3>
        {left_out.map(|left_out| view! { <p class="faint small">{left_out}</p> })}
        {sent.messages.into_iter().map(|message| {
            let who = match message.role {
                Role::User => "Person",
                Role::Assistant => "Persona",
            };
            match message.parts.is_empty() {
                true => vec![folded(who.into(), Some(message.tokens), &message.text).into_any()],
                false => message.parts.iter().filter_map(|part| earlier(part, who, "")).collect(),
            }
        }).collect_view()}
        {own}
    }
    .into_any()
}

/// The tools that the model was told of, together.
fn tools(tools: Vec<SentTool>) -> Option<impl IntoView> {
    let tokens: u64 = tools.iter().map(|tool| tool.tokens).sum();
    let title = match tools.len() {
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    };
    let each = |tool: SentTool| folded(tool.name, Some(tool.tokens), &tool.description);
    (!tools.is_empty()).then(|| {
        view! {
            <details class="sent">
                <summary>{title} <span class="faint small">{format!(" · about {tokens} tokens")}</span></summary>
                {tools.into_iter().map(each).collect_view()}
            </details>
        }
    })
}

/// Something that another run said, under this title, or did. Thoughts are left out here as there.
fn earlier(part: &PartBody, said: &str, when: &str) -> Option<AnyView> {
    let (title, text) = match part {
        PartBody::Text(text) => (said.to_owned(), text.clone()),
        PartBody::Reasoning(_) => return None,
        PartBody::ToolCall(call) => (format!("Asked for {}{when}", call.name), pretty(&call.input)),
        PartBody::ToolResult(result) => {
            (format!("Result of {}{when}", result.name), result.output.clone())
        }
    };
    let tokens = estimate(&text) as u64;
    Some(folded(title, Some(tokens), &text).into_any())
}

/// What the run went on from, and what it said and was answered in the steps before.
fn said_before(trace: &Trace, step: u32) -> impl IntoView + use<> {
    let taken_over = trace.taken_over.iter().map(|part| &part.body);
    let mut blocks: Vec<AnyView> = taken_over
        .filter_map(|part| earlier(part, "Said before this run", " before this run"))
        .collect();
    for span in &trace.spans {
        match &span.what {
            What::LlmCall { step: other, .. } if *other >= step => break,
            What::LlmCall { step: other, text, .. } if !text.is_empty() => {
                blocks.push(folded(format!("Said in step {other}"), None, text).into_any());
            }
            What::ToolCall { input, tokens, .. } => {
                let title = format!("Asked for {}", span.name);
                blocks.push(folded(title, Some(*tokens), &pretty(input)).into_any());
            }
            What::ToolResult { output, tokens, .. } => {
                let title = format!("Result of {}", span.name);
                blocks.push(folded(title, Some(*tokens), output).into_any());
            }
            What::LlmCall { .. } | What::Run { .. } => {}
        }
    }
    blocks
}

/// What the model answered.
fn answered(span: &Span) -> impl IntoView + use<> {
    let What::LlmCall { text, reasoning, calls, .. } = &span.what else { return ().into_any() };
    let thoughts = (!reasoning.is_empty()).then(|| folded("Thoughts".into(), None, reasoning));
    let words = match text.is_empty() {
        true => view! { <p class="faint small">"It said nothing in words."</p> }.into_any(),
        false => text_block("Words", text, true).into_any(),
    };
    let asked = match calls.len() {
        0 => None,
        1 => Some("It asked for 1 tool.".to_owned()),
        count => Some(format!("It asked for {count} tools.")),
    };
    view! {
        <h3>"Answered"</h3>
        {thoughts}
        {words}
        {asked.map(|asked| view! { <p class="small faint">{asked}</p> })}
    }
    .into_any()
}

/// What a tool gave.
fn output(trace: &Trace, call: &CallId) -> impl IntoView + use<> {
    match trace.result(call).map(|result| &result.what) {
        Some(What::ToolResult { output, tokens, .. }) => {
            text_block(&format!("Output, about {tokens} tokens"), output, true).into_any()
        }
        _ => view! { <p class="faint small">"It gave no result."</p> }.into_any(),
    }
}

/// A text under a title that opens it.
fn folded(title: String, tokens: Option<u64>, text: &str) -> impl IntoView + use<> {
    let (shown, rest) = shortened(text);
    let tokens = tokens.map(|tokens| format!(" · about {tokens} tokens"));
    view! {
        <details class="sent">
            <summary>{title} <span class="faint small">{tokens}</span></summary>
            <pre>{shown}</pre>
            {rest}
        </details>
    }
}

/// A text that is open from the beginning.
fn text_block(title: &str, text: &str, open: bool) -> impl IntoView + use<> {
    let (shown, rest) = shortened(text);
    let title = title.to_owned();
    view! {
        <details class="sent" open=open>
            <summary>{title}</summary>
            <pre>{shown}</pre>
            {rest}
        </details>
    }
}

/// As much of a text as a page shows, and a sentence about the rest.
fn shortened(text: &str) -> (String, Option<impl IntoView + use<>>) {
    let count = text.chars().count();
    let shown = visible(text.chars().take(MAX_SHOWN).collect());
    let rest = (count > MAX_SHOWN).then(|| {
        let more = grouped(count - MAX_SHOWN);
        view! { <p class="faint small">{format!("{more} more characters are not shown; the API has all of it.")}</p> }
    });
    (shown, rest)
}

/// JSON for people.
fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
