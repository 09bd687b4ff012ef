//! Streams written by hand: what the recordings show, without the shared folder.

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;
