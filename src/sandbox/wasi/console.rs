//! The console: three streams, no terminal, no environment, and the way out.

use wasmtime::{
    StoreContextMut,
    component::{Linker, Resource, ResourceType},
};

use super::{
    Host, Stop, forget, named,
    streams::{InputStream, OutputStream},
};

/// A terminal to read from. There is none.
#[derive(Debug)]
struct TerminalInput;

/// A terminal to write to. There is none.
#[derive(Debug)]
struct TerminalOutput;

type Store<'a> = StoreContextMut<'a, Host>;
type Pairs = Vec<(String, String)>;

pub(super) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.instance(&named("cli/stdin"))?.func_wrap("get-stdin", |mut store: Store, (): ()| {
        Ok((store.data_mut().table.push(InputStream::Stdin)?,))
    })?;
    linker
        .instance(&named("cli/stdout"))?
        .func_wrap("get-stdout", |mut store: Store, (): ()| {
            Ok((store.data_mut().table.push(OutputStream::Stdout)?,))
        })?;
    linker
        .instance(&named("cli/stderr"))?
        .func_wrap("get-stderr", |mut store: Store, (): ()| {
            Ok((store.data_mut().table.push(OutputStream::Stderr)?,))
        })?;

    let mut environment = linker.instance(&named("cli/environment"))?;
    environment.func_wrap("get-environment", |_: Store, (): ()| Ok((Pairs::new(),)))?;
    environment.func_wrap("get-arguments", |_: Store, (): ()| Ok((Vec::<String>::new(),)))?;
    linker.instance(&named("cli/exit"))?.func_wrap(
        "exit",
        |_: Store, (status,): (Result<(), ()>,)| -> wasmtime::Result<()> {
            Err(wasmtime::Error::new(Stop::Exit(i32::from(status.is_err()))))
        },
    )?;

    for user in ["cli/terminal-input", "cli/terminal-stdin"] {
        let kind = ResourceType::host::<TerminalInput>();
        let mut terminal = linker.instance(&named(user))?;
        terminal.resource("terminal-input", kind, forget::<TerminalInput>)?;
    }
    for user in ["cli/terminal-output", "cli/terminal-stdout", "cli/terminal-stderr"] {
        let kind = ResourceType::host::<TerminalOutput>();
        let mut terminal = linker.instance(&named(user))?;
        terminal.resource("terminal-output", kind, forget::<TerminalOutput>)?;
    }
    linker
        .instance(&named("cli/terminal-stdin"))?
        .func_wrap("get-terminal-stdin", |_: Store, (): ()| {
            Ok((None::<Resource<TerminalInput>>,))
        })?;
    for name in ["stdout", "stderr"] {
        linker
            .instance(&named(&format!("cli/terminal-{name}")))?
            .func_wrap(&format!("get-terminal-{name}"), |_: Store, (): ()| {
                Ok((None::<Resource<TerminalOutput>>,))
            })?;
    }
    Ok(())
}
